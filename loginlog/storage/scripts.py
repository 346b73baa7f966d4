"""The login log's atomic scripts in Redis (``lua/*.lua``), and their keys and arguments."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Final

from loginlog import keys
from loginlog.storage import bitmaps
from loginlog.storage.bitmaps import SEGMENT_BYTES
from loginlog.storage.direct import Mark
from loginlog.storage.items import DaySegment, DenseIdSegment, LoginMonth
from loginlog.storage.tombstones import Known
from mirror import backup
from mirror.backup import epoch
from mirror.redis import Command, RedisClient, Script, Session, naming

_LUA: Final = Path(__file__).parent / "lua"
BACKUP_NAME: Final = "loginlog"  # the name of the backup

mark = backup.script(_LUA / "mark.lua")
put_month = Script(_LUA / "put_month.lua")
put_day = Script(_LUA / "put_day.lua")
erase = Script(_LUA / "erase.lua")
clear_bits = Script(_LUA / "clear_bits.lua")
forget_month = Script(_LUA / "forget_month.lua")
unmark = Script(_LUA / "unmark.lua")

NEW, ERASED, REMOVED = 1, -1, -2  # replies of ``mark`` for a login


def compute_min_length(number: int) -> int:
    """Return the minimum length in bytes of a day bitmap that contains this dense id.

    The length is a number of whole segments that grows in steps of about an eighth. So most bitmaps have equal lengths,
    for which BITOP is fast, and little space is wasted.
    """
    wanted = number // bitmaps.SEGMENT + 1
    step = max(1, 1 << max(0, wanted.bit_length() - 4))
    return -(-wanted // step) * step * SEGMENT_BYTES


def run_mark_script(
    redis: RedisClient, groups: Sequence[Sequence[Mark]], lifted: Mapping[tuple[int, date], int] | None = None
) -> list[int]:
    """Mark these logins, grouped by day and type, in one round trip. Return the reply of ``mark`` for each.

    ``lifted`` has the removals in SQL (``removal.lift_removals``); None: SQL was not asked. Raises redis-py's errors.
    """
    with Session(redis) as session:
        marker = epoch.start(session.incarnation)
        calls = [_build_mark_call(group, marker, lifted) for group in groups]
        if len(calls) == 1:
            return list(mark.ask(session, *calls[0]))
        mark.load(redis)
        replies = session.ask([mark.command(*call) for call in calls])
    return [reply for of_group in replies for reply in of_group]


def _build_mark_call(
    group: Sequence[Mark], marker: str, lifted: Mapping[tuple[int, date], int] | None
) -> tuple[list[str], list[str | int]]:
    """Return the keys and arguments of ``mark``."""
    day, user_type = group[0].day, group[0].user_type
    month, segment = LoginMonth(day.replace(day=1), user_type, 0), DaySegment(day, user_type, 0)
    names = [segment.key, keys.population(), keys.erased(), keys.months(), naming.marks(BACKUP_NAME)]
    names += [keys.unmarked(), naming.restored(BACKUP_NAME)]
    of_users = month.key.removesuffix("0")
    arguments: list[str | int] = [
        day.day,
        month.name.removesuffix("0"),
        segment.name.removesuffix("0"),
        month.member,
        compute_min_length(max(one.number for one in group)),
        str(day),
        marker,
        int(lifted is not None),
    ]
    for one in group:
        names.append(f"{of_users}{one.user_id}")
        arguments += (one.number, one.user_id, (lifted or {}).get((one.number, day), 0))
    return names, arguments


def merge_into_redis(
    redis: RedisClient,
    of_users: Mapping[LoginMonth, Known],
    *of_numbers: Mapping[DenseIdSegment, bytes] | Mapping[DaySegment, bytes],
) -> None:
    """OR bitmaps from SQL into Redis without marks. Days go first, because a month in Redis implies its days."""
    parts = [(item, raw) for part in of_numbers for item, raw in part.items() if raw]
    commands = [put_day.command(*_build_put_day_call(item, raw)) for item, raw in parts]
    commands += [
        put_month.command(
            [item.key, keys.erased(), keys.months()], [known.number, bitmaps.encode_month(known.bits), item.member]
        )
        for item, known in of_users.items()
        if known.bits
    ]
    _run_scripts(redis, [put_day, put_month], commands)


def _build_put_day_call(item: DenseIdSegment | DaySegment, raw: bytes) -> tuple[list[str], list[Any]]:
    names = [item.key, keys.population(), keys.erased(), keys.months(), keys.union("a"), keys.union("b")]
    return names, [item.offset, raw, compute_min_length(item.segment * bitmaps.SEGMENT), item.member]


def _run_scripts(redis: RedisClient, scripts: Iterable[Script], commands: Iterable[Command]) -> None:
    """Run calls of these scripts, a hundred per round trip. Raises the first error among the replies."""
    for script in scripts:
        script.load(redis)
    wanted = list(commands)
    for at in range(0, len(wanted), 100):
        pipe = redis.pipeline(transaction=False)
        for command in wanted[at : at + 100]:
            pipe.execute_command(*command)
        pipe.execute()
