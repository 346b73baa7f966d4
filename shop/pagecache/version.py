"""Which code and which templates a page was made by: another deployment never serves what an older one made."""

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

KINDS: Final = frozenset({".py", ".html", ".mo", ".lua"})


_reading: Final = threading.Lock()


def code_version() -> bytes:
    """A digest of the site's own sources: code, templates, translations, and names of static files. Read once: of many
    requests that come first, by one.
    """
    with _reading:
        return _read()


@cache
def _read() -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for folder in _folders():
        for file in sorted(file for file in folder.rglob("*") if file.suffix in KINDS):
            digest.update(b"%b\0%b\0" % (str(file.relative_to(folder)).encode(), _content(file)))
    manifest = getattr(staticfiles_storage, "manifest_hash", "")
    digest.update(
        f"{django.VERSION} {manifest} {settings.DEBUG} {settings.SHOP_CURRENCY} {settings.TIME_ZONE}".encode()
    )
    return digest.digest()


def _folders() -> list[Path]:
    """Those of the project's own applications; what is installed may be in a folder of the project, and is not."""
    all_ = (Path(app.path) for app in apps.get_app_configs())
    own = (folder for folder in all_ if folder.is_relative_to(settings.BASE_DIR))
    return sorted(folder for folder in own if "site-packages" not in folder.parts)


def _content(file: Path) -> bytes:
    return hashlib.blake2b(file.read_bytes(), digest_size=16).digest()


def _forget(**kwargs: Any) -> None:
    """While the server for developers runs, templates change under it."""
    _read.cache_clear()


file_changed.connect(_forget, dispatch_uid="shop.pagecache.version")
