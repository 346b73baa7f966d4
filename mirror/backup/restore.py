"""Restore: after a loss of Redis, write the items back from SQL one by one, then set the marker.

It runs while the site runs. Newer values in Redis are kept (``put_back``). If Redis is lost again, the epoch
changes: the marker is not set, and the restore starts over. Progress is stored in SQL, with its epoch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db.models import F

from mirror.backup import epoch, marks
from mirror.backup.declare import Backup
from mirror.backup.flush import flush
from mirror.backup.verify import Difference, verify
from mirror.conf import setting
from mirror.models import BackupState
from mirror.redis.clients import relay_client
from mirror.redis.types import RedisClient
from mirror.relay.drains import Deadline
from mirror.utils.callbacks import ProgressCallback, ignore

STARTS = 5  # how often a restore starts over before it gives up for now


@dataclass(frozen=True)
class Restored:
    """The result of a restore. items: processed items. done: Redis now has nothing older than SQL."""

    backup: str
    items: int
    done: bool


def restore(
    backup: Backup,
    seconds: float | None = None,
    *,
    again: bool = False,
    redis: RedisClient | None = None,
    progress: ProgressCallback = ignore,
) -> Restored:
    """Restore the items that Redis lost, if any, from the position where the last restore stopped.

    seconds: stop then. again: process every item, even without a loss. Concurrent runs and crashes are harmless.
    Raises the errors of redis-py and Django, and RuntimeError inside a transaction.
    """
    redis, deadline, items = redis or relay_client(), Deadline(seconds), 0
    for _ in range(STARTS):
        now = epoch.begin(backup.name, redis)
        if now.restored and not again:
            return Restored(backup.name, items, done=True)
        try:
            for count in _walk(backup, now, again, redis):
                items += count
                progress(backup.name, count)
                if deadline.passed():
                    return Restored(backup.name, items, done=False)
        except epoch.Over:
            continue
        if epoch.finish(now, redis):
            return Restored(backup.name, items, done=True)
    raise epoch.Over(f"Redis was lost again and again under the restore of {backup.name!r}")


def _walk(backup: Backup, now: epoch.Epoch, again: bool, redis: RedisClient) -> Iterator[int]:
    """Restore all items (without ``again``: those of ``items_lost``) chunk by chunk. Yield the size of each chunk.

    Raises Over when the epoch ends.
    """
    state = BackupState.objects.using(epoch.using()).filter(backup=backup.name, epoch=now.token)
    after = None if again else state.values_list("restore_cursor", flat=True).first()
    items_after = backup.items_after if again else backup.items_lost
    while items := items_after(after, int(setting("CHUNK"))):
        put_back(backup, items, redis)
        after = items[-1]
        progress = {"restore_cursor": after, "restored_items": F("restored_items") + len(items)}
        if not now.restored and not state.update(**progress):
            raise epoch.Over
        yield len(items)


def put_back(backup: Backup, items: Sequence[str], redis: RedisClient) -> None:
    """Restore these items: all of them, or only those that Redis still has if the backup is not ``whole``.

    An item that Redis has deleted and marked stays deleted.
    """
    held = backup.read(redis, items)
    marked = marks.versions(backup, redis, items) if backup.whole else {}
    wanted = [item for item in items if item in held or (backup.whole and item not in marked)]
    if wanted and (known := backup.load(wanted)):
        backup.put_back(redis, known)


def put_right(backup: Backup, found: Sequence[Difference], redis: RedisClient | None = None) -> list[Difference]:
    """Repair these differences. Return the remaining ones.

    Strays are deleted. All other items are restored from SQL, marked and flushed, after which both sides have the
    newer or merged value.
    """
    redis, left, size = redis or relay_client(), list[Difference](), int(setting("CHUNK"))
    for start in range(0, len(found), size):
        left += _put_right(backup, found[start : start + size], redis)
    return left


def _put_right(backup: Backup, found: Sequence[Difference], redis: RedisClient) -> list[Difference]:
    if strays := [d.item for d in found if d.kind == "stray"]:
        backup.drop(redis, strays)
    if others := [d.item for d in found if d.kind != "stray"]:
        backup.put_back(redis, backup.load(others))
        marks.mark(backup, redis, others)
        flush(backup, items=others, redis=redis)
    return verify(backup, redis=redis, items=[d.item for d in found])
