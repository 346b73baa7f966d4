"""URLs of Redis Cluster."""

from typing import Final
from urllib.parse import urlsplit

SCHEMES: Final = {"redis+cluster": "redis", "rediss+cluster": "rediss"}  # and those of single servers


def is_cluster_url(url: str) -> bool:
    """Return whether a URL names a cluster."""
    return urlsplit(url).scheme in SCHEMES
