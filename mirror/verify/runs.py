"""Verify: compare SQL with Redis in both directions, for several mirrors with one scan of the keys."""

from collections.abc import Iterable, Sequence

from mirror import registry
from mirror.comparison import scan
from mirror.comparison.compare import Difference, quarantined
from mirror.comparison.verification import Verification
from mirror.kinds import kind_of
from mirror.redis.clients import relay_client
from mirror.redis.session import Session
from mirror.redis.types import RedisClient
from mirror.utils.bulk import few_collections
from mirror.utils.callbacks import ProgressCallback, ignore


def verify(
    names: Iterable[str] = (),
    *,
    sample: int | None = None,
    progress: ProgressCallback = ignore,
    redis: RedisClient | None = None,
    all_strays: bool = False,
) -> list[Difference]:
    """Return all differences in these mirrors (all by default), and their quarantined changes.

    sample: compare only that many random rows, without searching for strays. all_strays: return also strays of rows
    with pending changes. ``progress`` is called with the mirror's name and the number of rows read (0: a sign of life
    while Redis is read). Raises redis-py's errors when Redis is away, UnknownMirror, and ``scan.WrongType`` for a key
    of the wrong type.
    """
    with few_collections(), Session(redis or relay_client()) as session:
        kinds = map(kind_of, registry.all_mirrors(names))
        runs = [kind.verification(session, progress, all_strays=all_strays) for kind in kinds]
        if sample is None:
            found = _verify_all(runs, session, progress)
        else:
            found = _verify_sample(runs, sample, session, progress)
    found += quarantined(run.mirror.name for run in runs)
    return found


def _verify_all(runs: Sequence[Verification], session: Session, progress: ProgressCallback) -> list[Difference]:
    for run in runs:
        run.read_rows()
    _read_keys(runs, session, progress)
    found: list[Difference] = []
    for run in runs:
        found += run.result()
    return found


def _verify_sample(
    runs: Sequence[Verification], count: int, session: Session, progress: ProgressCallback
) -> list[Difference]:
    # Most mirrors find the entries of a row without a scan of all keys.
    needing_keys = [run for run in runs if run.needs_keys_for_sample]
    _read_keys(needing_keys, session, progress)
    found: list[Difference] = []
    for run in runs:
        found += run.some(count)
    return found


def _read_keys(runs: Sequence[Verification], session: Session, progress: ProgressCallback) -> None:
    """Give all keys of Redis to each of these runs, with a single scan."""
    if not runs:
        return
    for keys in scan.keys(session):
        for run in runs:
            run.take(keys)
            progress(run.mirror.name, 0)
