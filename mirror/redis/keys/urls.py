"""URLs of Redis Cluster."""

from functools import cache
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings

from mirror.conf import setting

SCHEMES: Final = {"redis+cluster": "redis", "rediss+cluster": "rediss"}  # and those of single servers


@cache
def is_cluster_url(url: str) -> bool:
    """Return whether a URL names a cluster."""
    return urlsplit(url).scheme in SCHEMES


def has_cluster() -> bool:
    """Return whether the state is on a cluster."""
    location = settings.CACHES.get(setting("ALIAS"), {}).get("LOCATION")
    return isinstance(location, str) and is_cluster_url(location)


def tag_of(name: str) -> str:
    """Return a hash tag that puts keys into one slot of a cluster, or "" on one Redis."""
    return f"{{{name}}}" if has_cluster() else ""
