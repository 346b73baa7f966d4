"""Structures that are written to Redis first."""

from shop.backups.views import ViewBackup

__all__ = ["ViewBackup"]
