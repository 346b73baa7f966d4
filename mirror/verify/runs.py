"""Verify: compute everything from SQL, and compare it with everything in Redis, in both directions.

The first comparison is quick: records byte by byte, all other keys by count and checksum (``mirror.comparison.expected``).
Differing keys are then compared closely (``mirror.comparison.compare``), because on a live site most differences are
transient.
"""

import random
from collections import defaultdict
from collections.abc import Generator, Iterable, Sequence
from typing import Any

from django.db.models.functions import Now

from mirror import registry
from mirror.comparison import scan
from mirror.comparison.compare import Difference, differences, read_targets
from mirror.comparison.expected import Sums, says
from mirror.conf import setting
from mirror.declare.entries import Entry, single
from mirror.declare.mirrors import Mirror, TableMirror
from mirror.declare.watches import Family
from mirror.kinds import ABSENT, JsonShape, Target, shape_of
from mirror.kinds.plan import TYPES
from mirror.models import Change, State
from mirror.outbox import changes as outbox
from mirror.redis.clients import relay_client
from mirror.redis.session import Session
from mirror.redis.types import RedisClient
from mirror.relay import tables
from mirror.utils.bulk import few_collections
from mirror.utils.callbacks import ProgressCallback, ignore
from mirror.windows.declare import WindowMirror
from mirror.windows.kinds import at_once
from mirror.windows.verify import Windows, in_batches

CHUNKS = 4  # chunks of a rebuild read at once, since nothing is written and no reader waits


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
        runs = [_run_of(mirror, session, progress, all_strays) for mirror in registry.all_mirrors(names)]
        if sample is None:
            for run in runs:
                run.read_rows()
        walking = runs if sample is None else [run for run in runs if isinstance(run, _LazyVerification)]
        for keys in scan.keys(session) if walking else ():  # a single scan of all keys serves all mirrors
            for run in walking:
                run.take(keys)
                progress(run.mirror.name, 0)
        found = [d for run in runs for d in (run.result() if sample is None else run.some(sample))]
    return found + quarantined(run.mirror.name for run in runs)


def quarantined(names: Iterable[str]) -> list[Difference]:
    """Return the quarantined changes of these mirrors. SQL answers reads of their rows."""
    changes = Change.objects.using(outbox.using()).quarantined().filter(mirror__in=list(names)).order_by("id")
    rows = {(c.mirror, c.source, c.key): c.error for c in changes}
    return [
        Difference(name, key, "quarantined", source, None, None, error) for (name, source, key), error in rows.items()
    ]


def _run_of(
    mirror: Mirror, session: Session, progress: ProgressCallback, all_strays: bool
) -> "_Verification | _LazyVerification | _TableVerification":
    if isinstance(mirror, TableMirror):
        return _TableVerification(mirror, progress)
    if isinstance(mirror, WindowMirror) and mirror.lazy:
        return _LazyVerification(mirror, session, progress)
    return _Verification(mirror, session, progress, all_strays)


def note(name: str, count: int) -> None:
    """Save the number of differences that a complete verification of a mirror found."""
    states = State.objects.using(outbox.using())
    states.get_or_create(mirror=name)
    states.filter(mirror=name).update(verified_at=Now(), differences=count)


class _Verification:
    """The verification of one mirror."""

    def __init__(self, mirror: Mirror, session: Session, progress: ProgressCallback, all_strays: bool) -> None:
        self.mirror, self.session, self.progress, self.all_strays = mirror, session, progress, all_strays
        self.shape: JsonShape = shape_of(mirror)
        self.owned = scan.Owned(mirror)
        self.sums, self.rows = Sums(), 0
        # Reported separately. Their declaration may raise, which would stop the comparison of all other rows.
        self.quarantined = {difference.pk for difference in quarantined([mirror.name])}
        self.named: dict[str, Family] = {}
        self.records: set[str] = set()
        self.suspects: dict[str, None] = {}
        self.strays: dict[str, set[Entry]] = defaultdict(set)

    def read_rows(self) -> None:
        """Read every row: compare its record, and add its entries to the checksums."""
        for pks in self._chunks():
            asks = self.shape.ask(pks) if self.mirror.has_record else []
            self.session.post(asks)  # Redis answers while SQL is read
            targets, errors = read_targets(self.shape, pks)
            self.suspects.update(dict.fromkeys(errors))
            self._compare_own(pks, targets, scan.collect(self.session, asks))
            self.rows += sum(target.own is not None for target in targets.values())
            for target in targets.values():
                self.sums.add(target.entries)
            self.progress(self.mirror.name, len(pks))

    def take(self, keys: list[str]) -> None:
        """Collect the keys in this list that belong to the mirror."""
        pk_of, family_of = self.owned.pk_of, self.owned.family_of
        for key in keys:
            if (pk := pk_of(key)) is not None:
                self.records.add(pk)
            elif (family := family_of(key)) is not None:
                self.named[key] = family

    def result(self) -> list[Difference]:
        """Return the lasting differences, after all rows and keys were read."""
        if len(self.records) != self.rows or self.suspects:
            self._records_without_row()
        wrong = {c.key: c.family for c in self._contents(self.named) if not self.sums.agree(c)}
        missing = self.sums.totals.keys() - self.named.keys()
        if wrong or missing:
            self._look_closely(wrong, missing)
        pks = [pk for pk in (*self.suspects, *self.strays) if pk not in self.quarantined]
        found = differences(self.mirror, pks, self.strays, self.session, self.all_strays)
        note(self.mirror.name, len(found))
        return found

    def some(self, count: int) -> list[Difference]:
        """Return the differences of ``count`` random rows (reservoir sampling: one pass, no OFFSET)."""
        chosen: list[str] = []
        for seen, pk in enumerate(self._pks()):
            if len(chosen) < count:
                chosen.append(pk)
            elif (place := random.randrange(seen + 1)) < count:
                chosen[place] = pk
        return differences(self.mirror, chosen, {}, self.session)

    def _chunks(self) -> Generator[list[str], None, None]:
        after, size = None, at_once(self.mirror, CHUNKS * int(setting("CHUNK")))
        while pks := self.mirror.keys_after(after, size):
            yield [pk for pk in pks if pk not in self.quarantined]
            after = pks[-1]

    def _pks(self) -> Generator[str, None, None]:
        for pks in self._chunks():
            yield from pks

    def _targets(self) -> Generator[tuple[list[str], dict[str, Target]], None, None]:
        for pks in self._chunks():
            yield pks, read_targets(self.shape, pks)[0]
            self.progress(self.mirror.name, 0)

    def _compare_own(self, pks: Sequence[str], targets: dict[str, Target], replies: list[Any]) -> None:
        if not replies:  # the rows have no keys of their own
            return
        for pk, said in zip(pks, self.shape.said(pks, replies), strict=True):
            if said != targets.get(pk, ABSENT).own:
                self.suspects[pk] = None

    def _contents(self, named: dict[str, Family]) -> Generator[scan.Content, None, None]:
        for count, content in enumerate(scan.contents(self.session, named.items())):
            if count % scan.PIPE == 0:
                self.progress(self.mirror.name, 0)
            yield content

    def _records_without_row(self) -> None:
        ordered, size = sorted(self.records - self.quarantined), int(setting("CHUNK"))
        for start in range(0, len(ordered), size):
            pks = ordered[start : start + size]
            known, _ = read_targets(self.shape, pks)
            self.suspects.update(dict.fromkeys(pk for pk in pks if pk not in known))

    def _look_closely(self, wrong: dict[str, Family], missing: set[str]) -> None:
        """Read the members of these keys, and find the rows that have to be compared closely."""
        found: dict[tuple[str, str], str] = {}
        for content in self._contents(wrong):
            found |= {(content.key, member): said for member, said in content.items()}
        keys = wrong.keys() | missing
        for _, targets in self._targets():
            for pk, target in targets.items():
                for entry in single(target.entries):
                    if entry[0] in keys and found.pop(says(entry)[:2], None) != says(entry)[2]:
                        self.suspects[pk] = None
        left: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for (key, member), said in found.items():
            left[key].append((member, said))
        for key, items in left.items():
            family = wrong[key]
            owners = family.find_owners(key, [member or said for member, said in items])
            for owner, (member, said) in zip(owners, items, strict=True):
                self.strays[owner].add(make_entry(family, key, member, said))


class _LazyVerification:
    """The verification of a mirror with lazy windows: those that exist in Redis."""

    def __init__(self, mirror: WindowMirror, session: Session, progress: ProgressCallback) -> None:
        self.mirror, self.windows, self.progress = mirror, Windows(mirror, session), progress

    def read_rows(self) -> None:
        """Do nothing: rows require no windows."""

    def take(self, keys: list[str]) -> None:
        """Collect the keys in this list that belong to the mirror."""
        self.windows.take(keys)

    def result(self) -> list[Difference]:
        """Return the lasting differences of all windows."""
        found = self._differences(list(self.windows.owners))
        note(self.mirror.name, len(found))
        return found

    def some(self, count: int) -> list[Difference]:
        """Return the differences of ``count`` random windows."""
        return self._differences(self.windows.chosen(count))

    def _differences(self, owners: list[str]) -> list[Difference]:
        found = []
        for batch in in_batches(self.windows, owners):
            found += self.windows.differences(batch)
            self.progress(self.mirror.name, len(batch))
        return found


class _TableVerification:
    """The verification of a table mirror, which has nothing in Redis."""

    def __init__(self, mirror: TableMirror, progress: ProgressCallback) -> None:
        self.mirror, self.progress = mirror, progress

    def read_rows(self) -> None:
        """Do nothing: ``result`` reads the rows."""

    def take(self, keys: list[str]) -> None:
        """Do nothing: the mirror has no keys."""

    def result(self) -> list[Difference]:
        """Return the lasting differences of all source rows and stored rows."""
        found: list[Difference] = []
        for keys_after in (self.mirror.keys_after, self.mirror.stored_after):
            after = None
            while pks := keys_after(after, self.mirror.batch):
                found += tables.find_differences(self.mirror, pks)
                self.progress(self.mirror.name, len(pks))
                after = pks[-1]
        found = list(dict.fromkeys(found))
        note(self.mirror.name, len(found))
        return found

    def some(self, count: int) -> list[Difference]:
        """Return the differences of the first ``count`` rows. A random choice would have to read all rows."""
        return tables.find_differences(self.mirror, self.mirror.keys_after(None, count))


def make_entry(family: Family, key: str, member: str, said: str) -> Entry:
    """Return the entry in Redis at this place of a key."""
    parts: dict[str, tuple[Any, ...]] = {
        "set": (key, member),
        "zset": (key, member, float(said) if family.kind == "zset" else 0.0),
        "hash": (key, member, said),
        "string": (key, said),
        "bitmap": (key, int(member) if family.kind == "bitmap" else 0),
    }
    made: Entry = TYPES[family.kind](*parts[family.kind])
    return made
