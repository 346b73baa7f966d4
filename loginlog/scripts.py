"""The login log's steps in Redis, each atomic (``lua/*.lua``), and what they are given."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Final

from loginlog import bitmaps, keys
from loginlog.bitmaps import SEGMENT_BYTES
from loginlog.items import Month, Numbers, Segment
from loginlog.store import Known
from mirror import backup, naming
from mirror.scripts import Script
from mirror.session import Command

_LUA: Final = Path(__file__).parent / "lua"
BACKUP: Final = "loginlog"  # the name under which bitmaps are marked

mark = backup.script(_LUA / "mark.lua")
put_month = Script(_LUA / "put_month.lua")
put_day = Script(_LUA / "put_day.lua")
erase = Script(_LUA / "erase.lua")
clear_bits = Script(_LUA / "clear_bits.lua")
forget_month = Script(_LUA / "forget_month.lua")


def length(number: int) -> int:
    """How many bytes a bitmap of days has at least that has this number.

    Whole segments, in steps of an eighth of the size: few lengths, so that most bitmaps are equally long (which is
    what BITOP is fast for), and little space for nobody.
    """
    wanted = number // bitmaps.SEGMENT + 1
    step = max(1, 1 << max(0, wanted.bit_length() - 4))
    return -(-wanted // step) * step * SEGMENT_BYTES


def marking(user_type: str, day: date, users: Sequence[tuple[int, int]]) -> tuple[list[str], list[str | int]]:
    """Keys and arguments of ``mark`` for users (id and number) who were here on a day as users of one type."""
    month, segment = Month(day.replace(day=1), user_type, 0), Segment(day, user_type, 0)
    names = [segment.key, keys.population(), keys.erased(), keys.months(), naming.marks(BACKUP)]
    of_users = month.key.removesuffix("0")
    arguments: list[str | int] = [
        day.day,
        month.name.removesuffix("0"),
        segment.name.removesuffix("0"),
        month.member,
        length(max(number for _, number in users)),
    ]
    for user_id, number in users:
        names.append(f"{of_users}{user_id}")
        arguments += (number, user_id)
    return names, arguments


def put(
    redis: Any, of_users: Mapping[Month, Known], *of_numbers: Mapping[Numbers, bytes] | Mapping[Segment, bytes]
) -> None:
    """OR what SQL has into Redis; nothing is marked. Days go first: a month in Redis has its days there too."""
    parts = [(item, raw) for part in of_numbers for item, raw in part.items() if raw]
    commands = [put_day.command(*_putting(item, raw)) for item, raw in parts]
    commands += [
        put_month.command(
            [item.key, keys.erased(), keys.months()], [known.number, bitmaps.month_raw(known.bits), item.member]
        )
        for item, known in of_users.items()
        if known.bits
    ]
    _run(redis, [put_day, put_month], commands)


def _putting(item: Numbers | Segment, raw: bytes) -> tuple[list[str], list[Any]]:
    names = [item.key, keys.population(), keys.erased(), keys.months(), keys.union("a"), keys.union("b")]
    return names, [item.offset, raw, length(item.segment * bitmaps.SEGMENT), item.member]


def _run(redis: Any, scripts: Iterable[Script], commands: Iterable[Command]) -> None:
    """Many calls of these scripts, a hundred a round trip. Raises the first error among the replies."""
    for script in scripts:
        script.load(redis)
    wanted = list(commands)
    for at in range(0, len(wanted), 100):
        pipe = redis.pipeline(transaction=False)
        for command in wanted[at : at + 100]:
            pipe.execute_command(*command)
        pipe.execute()
