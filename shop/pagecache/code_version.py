"""The version of code and templates in the cache key, so that a deployment never serves pages of an older one."""

import hashlib
import threading
from functools import cache
from pathlib import Path
from typing import Any, Final

import django
from django.apps import apps
from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.utils.autoreload import file_changed

SOURCE_SUFFIXES: Final = frozenset({".py", ".html", ".mo", ".lua"})


_computing_lock: Final = threading.Lock()


def get_code_version() -> bytes:
    """Return a digest of the site's code, templates, translations and static file names. It is computed once per
    process.
    """
    # Otherwise the first requests of a process would all read and hash every file.
    with _computing_lock:
        return _compute_version()


@cache
def _compute_version() -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for folder in _list_app_folders():
        for file in sorted(file for file in folder.rglob("*") if file.suffix in SOURCE_SUFFIXES):
            digest.update(b"%b\0%b\0" % (str(file.relative_to(folder)).encode(), _hash_file(file)))
    manifest = getattr(staticfiles_storage, "manifest_hash", "")
    digest.update(
        f"{django.VERSION} {manifest} {settings.DEBUG} {settings.SHOP_CURRENCY} {settings.TIME_ZONE}".encode()
    )
    return digest.digest()


def _list_app_folders() -> list[Path]:
    """Return the folders of the project's own applications, without packages that are installed inside the project."""
    all_ = (Path(app.path) for app in apps.get_app_configs())
    own = (folder for folder in all_ if folder.is_relative_to(settings.BASE_DIR))
    return sorted(folder for folder in own if "site-packages" not in folder.parts)


def _hash_file(file: Path) -> bytes:
    return hashlib.blake2b(file.read_bytes(), digest_size=16).digest()


def _clear_version(**kwargs: Any) -> None:
    """Drop the digest when the development server sees a changed file."""
    _compute_version.cache_clear()


file_changed.connect(_clear_version, dispatch_uid="shop.pagecache.version")
