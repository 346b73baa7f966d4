"""Create sessions with carts, and compare carts in Redis with SQL."""

from datetime import timedelta
from itertools import count
from typing import Any

from django.utils import timezone

from accounts.models import Session, User
from accounts.sessions.rows import hash_token
from mirror.backup import registry
from mirror.backup.flush import flush
from mirror.backup.restore import restore
from mirror.backup.verify import verify
from mirror.redis.clients import relay_client
from shop import keys
from shop.carts.reading import get_cart_backup, read_cart

_numbers = count()


def make_visitor(user: User | None = None) -> str:
    """Create a session and return its digest."""
    digest = hash_token(f"token {next(_numbers)}")
    Session.objects.create(pk=digest, session_data="", expire_date=timezone.now() + timedelta(days=1), user=user)
    return digest


def restore_backups() -> None:
    """Restore every backup, so that Redis has nothing older than SQL."""
    for each in registry.all_backups():
        restore(each)


def flush_carts() -> None:
    """Flush all carts to SQL."""
    flush(get_cart_backup())


def read_quantities(digest: str | None) -> dict[int, int]:
    """Return the quantities in a cart by product id."""
    return dict(read_cart(digest).lines)


def find_differences() -> list[Any]:
    """Return the differences between SQL and Redis, and between the quantities and the state of each cart in Redis."""
    redis, found = relay_client(), list[Any](verify(get_cart_backup()))
    for digests in get_cart_backup().scan(redis):
        for digest, content in get_cart_backup().read(redis, digests).items():
            there = {int(name): int(number) for name, number in redis.hgetall(keys.cart(digest)).items()}
            copies, version = (int(said or -1) for said in redis.hmget(keys.cart_state(digest), ["copies", "version"]))
            if (there, copies, version) != (content.quantities, sum(there.values()), content.version):
                found.append((digest, there, copies, version, content))
    return found
