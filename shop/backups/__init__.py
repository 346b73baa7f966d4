"""Structures that are written to Redis first."""

from shop.backups.carts import CartBackup
from shop.backups.views import ViewBackup

__all__ = ["CartBackup", "ViewBackup"]
