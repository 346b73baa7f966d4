"""Copies of the whole site, which ``manage.py site`` takes and restores.

SQL is copied at a moment at which it has everything that Redis has first. So one file holds facts and views, logins and
last-seen times, and Redis is filled from it.
"""

from config.copies.manifest import CopyError, Manifest
from config.copies.restore import restore_site
from config.copies.take import back_up_site

__all__ = ["CopyError", "Manifest", "back_up_site", "restore_site"]
