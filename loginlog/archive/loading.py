"""Loading of log files into SQL and Redis. Bits are merged by OR; erased bits stay erased."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from loginlog.archive import log_files
from loginlog.archive.log_files import BadFile, Line
from loginlog.models import Number
from loginlog.storage import direct
from loginlog.storage.items import LoginMonth
from loginlog.storage.tombstones import Known

LINES_PER_TRANSACTION: Final = 500  # lines per transaction


def load_file(path: Path) -> int:
    """Load a file into SQL. Return its number of bitmaps. The next ``settling.settle_redis`` writes them to Redis.

    Loading a file twice changes nothing. Raises log_files.BadFile with file and line, and OSError; lines before the
    error are loaded.
    """
    lines, total = log_files.read_lines(path), 0
    while part := list(islice(lines, LINES_PER_TRANSACTION)):
        _check_owners(path, part)
        of_users, of_days = {}, {}
        for _, (item, value) in part:
            if isinstance(item, LoginMonth) and isinstance(value, Known):
                of_users[item] = value
            elif not isinstance(item, LoginMonth) and isinstance(value, bytes):
                of_days[item] = value
        direct.merge_bitmaps(of_users, of_days)
        total += len(part)
    return total


def _check_owners(path: Path, lines: Sequence[tuple[int, Line]]) -> None:
    """Raise BadFile if a dense id belongs to another user, since the file then comes from another database."""
    wanted = {line.value.number for _, line in lines if isinstance(line.value, Known)}
    owners = dict(Number.objects.filter(pk__in=wanted).values_list("pk", "user_id"))
    for number, (item, value) in lines:
        if isinstance(item, LoginMonth) and isinstance(value, Known):
            if owners.get(value.number, 0) in (item.user_id, None):
                continue
            text = f"user {item.user_id} does not have the number {value.number} in this database"
            raise BadFile(f"{path}, line {number}: {text}")
