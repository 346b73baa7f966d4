"""Copies of the whole site, which ``manage.py site`` takes and restores.

SQL has all facts, so a dump of it is the whole site, and Redis is filled from it. Only visits of the last second, which
wait in Redis, are missing.
"""

from config.copies.manifest import CopyError, Manifest
from config.copies.restore import restore_site
from config.copies.take import back_up_site

__all__ = ["CopyError", "Manifest", "back_up_site", "restore_site"]
