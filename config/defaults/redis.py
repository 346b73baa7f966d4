"""Settings of Redis: the state and the cache."""

import hashlib
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.retry import Retry

from config.environment import BASE_DIR, VAR_DIR, env
from mirror.redis import is_cluster_url


def build_embedded_url(database: int) -> str:
    """Return the URL of a database of the embedded Redis, which ``tools.devserver`` starts."""
    socket = VAR_DIR / "redis" / "redis.sock"
    if len(str(socket)) > 100:  # a socket's path has at most 107 bytes
        digest = hashlib.sha256(bytes(BASE_DIR)).hexdigest()[:12]
        socket = Path(tempfile.gettempdir()) / f"diptych-{digest}" / "redis.sock"
    return f"unix://{socket}?db={database}"


def replace_database(url: str, database: int) -> str:
    """Return the URL of another logical database of the same server, or beside a cluster of the embedded one."""
    if is_cluster_url(url):
        return build_embedded_url(database)
    if url.startswith("unix:"):
        return f"{url.partition('?')[0]}?db={database}"
    return urlsplit(url)._replace(path=f"/{database}").geturl()


REDIS_URL = env.str("REDIS_URL", default=build_embedded_url(0))
CACHE_URL = env.str("CACHE_URL", default=replace_database(REDIS_URL, 1))
# Connections of one process in one pool: many more than its threads use. Beyond it, SQL answers.
REDIS_CONNECTIONS = env.int("REDIS_CONNECTIONS", default=32)


def _build_cache(url: str, *, timeout: float) -> dict[str, object]:
    """Return a django-redis alias with short, explicit time-outs (redis-py 8 would wait for 5 s three times)."""
    return {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": url,
        "OPTIONS": {
            "SOCKET_CONNECT_TIMEOUT": timeout,
            "SOCKET_TIMEOUT": timeout,
            "CONNECTION_FACTORY": "mirror.redis.PoolFactory",
            "CONNECTION_POOL_CLASS": "mirror.redis.MirrorPool",
            "CONNECTION_POOL_KWARGS": {
                "max_connections": REDIS_CONNECTIONS,
                # Retry once, immediately, for a pooled connection that a restart has closed. Do not retry after a
                # time-out, or a hung server would cost two time-outs.
                "retry": Retry(NoBackoff(), 1, supported_errors=(RedisConnectionError,)),
            },
        },
    }


CACHES = {
    "default": _build_cache(CACHE_URL, timeout=0.3),
    "state": _build_cache(REDIS_URL, timeout=0.3),  # requests
    "relay": _build_cache(REDIS_URL, timeout=5.0),  # workers and commands, which can wait
}
DJANGO_REDIS_IGNORE_EXCEPTIONS = True  # for the cache API only: without Redis every read is a miss

MIRROR = {
    "ALIAS": "state",
    "RELAY_ALIAS": "relay",
    "REPLICA": "replica" if env.str("DATABASE_REPLICA_URL", default="") else None,
    "PREFIX": env.str("REDIS_PREFIX", default=""),
    "WORDS": {"LOCATION": "REDIS_URL", "PREFIX": "REDIS_PREFIX", "DATABASES": "DATABASE_URL"},
    "DOCTOR_CHECKS": ("config.metrics.doctor.check_site",),
}
