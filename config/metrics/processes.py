"""The files of prometheus_client's multi-process mode: each process counts in files that are named for its id.

The values of ended processes stay in the sums. Without them a sum would fall, which Prometheus takes for a restart.
"""

import fcntl
import os
from collections import defaultdict
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from prometheus_client.mmap_dict import MmapedDict

KINDS: Final = ("counter", "histogram")  # the site has no gauges of processes
ENDED: Final = "ended"  # stands for the id in the name of the file with the sums of ended processes


@contextmanager
def hold_folder(folder: str) -> Generator[None, None, None]:
    """Hold the folder's lock, so that nobody reads the files while they are merged."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def merge_ended(folder: str) -> None:
    """Move the values of ended processes to one file for each kind of metric, and remove their files."""
    for kind in KINDS:
        ended = [path for path in Path(folder).glob(f"{kind}_[0-9]*.db") if not _is_alive(path)]
        if ended:
            _merge(ended, Path(folder) / f"{kind}_{ENDED}.db")


def _is_alive(path: Path) -> bool:
    try:
        os.kill(int(path.stem.rpartition("_")[2]), 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # the process of another user
        return True
    return True


def _merge(paths: Sequence[Path], target: Path) -> None:
    sums = defaultdict[str, float](float)
    for path in [*paths, *([target] if target.exists() else [])]:
        if not path.stat().st_size:  # its process was killed while it created the file
            continue
        for key, value, _, _ in MmapedDict.read_all_values_from_file(path):
            sums[key] += value
    draft = target.with_suffix(".draft")
    draft.unlink(missing_ok=True)
    merged = MmapedDict(str(draft))
    for key, value in sums.items():
        merged.write_value(key, value, 0.0)
    merged.close()
    draft.replace(target)
    for path in paths:
        path.unlink()
