"""Verify: compare SQL and Redis item by item in both directions, without the marked items.

Both cannot be read at the same moment, so a difference counts only if every comparison finds it.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from django.db.models.functions import Now

from mirror.backup import epoch, marks
from mirror.backup.declare import Backup
from mirror.conf import setting
from mirror.models import BackupState
from mirror.redis.clients import relay_client
from mirror.redis.types import RedisClient
from mirror.utils.callbacks import ProgressCallback, ignore
from mirror.verify.compare import number_looks

# missing: Redis lacks an item of SQL (only if ``whole``). stale: the values differ. stray: the item must not exist.
# unsaved: SQL lacks an item of Redis, which is not marked.
Kind = Literal["missing", "stale", "stray", "unsaved"]
LONGEST = 200  # maximum number of characters shown of a value


class Difference(NamedTuple):
    """An item with different values in SQL and Redis. sql, redis: the values, or None without one."""

    backup: str
    item: str
    kind: Kind
    sql: str | None
    redis: str | None


def verify(
    backup: Backup,
    *,
    items: Sequence[str] | None = None,
    progress: ProgressCallback = ignore,
    redis: RedisClient | None = None,
) -> list[Difference]:
    """Return all differences of a backup, or of these items. ``progress`` is called with the size of each chunk.

    Raises redis-py's errors when Redis is away.
    """
    redis, found = redis or relay_client(), list[Difference]()
    chunks = _chunks(backup, redis) if items is None else iter([items])
    for chunk in chunks:
        found += _settled(backup, chunk, redis)
        progress(backup.name, len(chunk))
    found = list({d.item: d for d in found}.values())
    if items is None:
        states = BackupState.objects.using(epoch.using())
        states.get_or_create(backup=backup.name)
        states.filter(backup=backup.name).update(verified_at=Now(), differences=len(found))
    return found


def _chunks(backup: Backup, redis: RedisClient) -> Iterator[Sequence[str]]:
    """Yield all items in SQL, then those that only Redis has."""
    after: str | None = None
    while items := backup.items_after(after, int(setting("CHUNK"))):
        yield items
        after = items[-1]
    for held in _gathered(backup.scan(redis), int(setting("CHUNK"))):
        known = backup.load(held)
        if unknown := [item for item in held if item not in known]:
            yield unknown


def _gathered(lists: Iterable[Sequence[str]], size: int) -> Iterator[list[str]]:
    """Join short lists to lists of at least ``size`` items, without repetitions in a list."""
    found: dict[str, None] = {}
    for items in lists:
        found |= dict.fromkeys(items)
        if len(found) >= size:
            yield list(found)
            found = {}
    if found:
        yield list(found)


def _settled(backup: Backup, items: Sequence[str], redis: RedisClient) -> list[Difference]:
    """Return the differences that every comparison finds."""
    found: list[Difference] = []
    for _ in number_looks():
        found = _look(backup, items, redis)
        items = [difference.item for difference in found]
        if not items:
            break
    return found


def _look(backup: Backup, items: Sequence[str], redis: RedisClient) -> list[Difference]:
    """Compare once. An item differs if it is unmarked before and after, and its values differ."""
    before = marks.versions(backup, redis, items)
    held = backup.read(redis, items)
    known = backup.load(items)
    after = marks.versions(backup, redis, items)
    differing = [i for i in items if i not in before and i not in after and _differ(backup, i, known, held)]
    only_held = [item for item in differing if item not in known]
    strays = set(backup.is_stray(only_held)) if only_held else set()
    return [
        Difference(backup.name, item, _kind(item, known, held, strays), _show(known, item), _show(held, item))
        for item in differing
    ]


def _differ(backup: Backup, item: str, known: Any, held: Any) -> bool:
    if item in known and item in held:
        return bool(known[item] != held[item])
    return item in held or (backup.whole and item in known)


def _kind(item: str, known: Any, held: Any, strays: set[str]) -> Kind:
    if item not in held:
        return "missing"
    if item in known:
        return "stale"
    return "stray" if item in strays else "unsaved"


def _show(values: Any, item: str) -> str | None:
    return str(values[item])[:LONGEST] if item in values else None
