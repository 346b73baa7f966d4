"""Loading of log files into SQL, from which Redis gets them. Bits are merged by OR."""

from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from loginlog.archive import log_files
from loginlog.mirrors import NAME
from loginlog.storage import months
from mirror.relay import hint

LINES_PER_TRANSACTION: Final = 500  # lines per transaction


class Loaded(NamedTuple):
    """The number of loaded bitmaps, and of those whose users do not exist."""

    loaded: int
    left_out: int


def load_file(path: Path) -> Loaded:
    """Load a file into SQL, and from there into Redis.

    Loading a file twice changes nothing. Raises log_files.BadFile with file and line, and OSError; lines before the
    error are loaded.
    """
    lines = log_files.read_lines(path)
    loaded = left_out = 0
    while part := list(islice(lines, LINES_PER_TRANSACTION)):
        found = {line.name: line.bits for _, line in part}
        months.merge(found, brings_back=True)
        # Readers expect these months in Redis from now on, because their rows are no longer expired.
        hint(NAME, "", [str(name) for name in found])
        known = months.count_known(found)
        loaded += known
        left_out += len(found) - known
    return Loaded(loaded, left_out)
