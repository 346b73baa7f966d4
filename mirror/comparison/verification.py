"""The verification of one mirror: compute everything from SQL, and compare it with everything in Redis.

The first comparison is quick: records byte by byte, all other keys by count and checksum
(``mirror.comparison.expected``). Differing keys are then compared closely (``mirror.comparison.compare``), because on a
live site most differences are transient.
"""

import random
from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from django.db.models.functions import Now

from mirror.comparison import scan
from mirror.comparison.compare import Difference, differences, quarantined, read_targets
from mirror.comparison.expected import Sums, describe_entry
from mirror.comparison.structures import STRUCTURES
from mirror.comparison.targets import ABSENT, Target
from mirror.conf import setting
from mirror.declare import values
from mirror.declare.entries import Entry, single
from mirror.declare.mirrors import Mirror
from mirror.declare.watches import Family
from mirror.models import State
from mirror.outbox import changes as outbox
from mirror.redis.session import Session
from mirror.utils.callbacks import ProgressCallback

if TYPE_CHECKING:
    from mirror.kinds.base import Kind

CHUNKS: Final = 4  # chunks of a rebuild read at once, since nothing is written and no reader waits


def note_result(name: str, count: int) -> None:
    """Save the number of differences that a complete verification of a mirror found."""
    states = State.objects.using(outbox.using())
    states.get_or_create(mirror=name)
    states.filter(mirror=name).update(verified_at=Now(), differences=count)


class Verification:
    """The verification of one mirror. By default it needs neither all rows nor all keys before its result."""

    mirror: Mirror
    needs_keys_for_sample: ClassVar[bool] = False  # whether ``some`` needs the keys as well

    def read_rows(self) -> None:
        """Read every row, and compare what can be compared with it."""

    def take(self, keys: list[str]) -> None:
        """Collect the keys in this list that belong to the mirror."""

    def result(self) -> list[Difference]:
        """Return the lasting differences, after all rows and keys were read."""
        raise NotImplementedError

    def some(self, count: int) -> list[Difference]:
        """Return the differences of about ``count`` rows."""
        raise NotImplementedError


class RowVerification(Verification):
    """The verification of a mirror whose rows are in Redis."""

    def __init__(self, kind: "Kind", session: Session, progress: ProgressCallback, all_strays: bool) -> None:
        mirror = kind.mirror
        self.kind = kind
        self.mirror = mirror
        self.session = session
        self.progress = progress
        self.all_strays = all_strays
        self.owned = scan.Owned(mirror)
        self.sums = Sums()
        self.rows = 0
        # Reported separately. Their declaration may raise, which would stop the comparison of all other rows.
        self.quarantined = {difference.pk for difference in quarantined([mirror.name])}
        self.named: dict[str, Family] = {}
        self.records: set[str] = set()
        self.suspects: dict[str, None] = {}
        self.strays: dict[str, set[Entry]] = defaultdict(set)

    def read_rows(self) -> None:
        """Read every row: compare its record, and add its entries to the checksums."""
        for pks in self._list_chunks():
            asks = self.kind.ask(pks) if self.mirror.has_record else []
            # Redis answers while SQL is read.
            self.session.post(asks)
            targets, errors = read_targets(self.kind, pks)
            replies = scan.collect(self.session, asks)
            self.suspects.update(dict.fromkeys(errors))
            self._compare_own(pks, targets, replies)
            for target in targets.values():
                self.sums.add(target.entries)
                self.rows += target.own is not None
            self.progress(self.mirror.name, len(pks))

    def take(self, keys: list[str]) -> None:
        """Collect the keys in this list that belong to the mirror."""
        # Looked up once, because this runs for each key of Redis.
        pk_of = self.owned.pk_of
        family_of = self.owned.family_of
        for key in self.owned.select(keys):
            pk = pk_of(key)
            if pk is not None:
                self.records.add(pk)
                continue
            family = family_of(key)
            if family is not None:
                self.named[key] = family

    def result(self) -> list[Difference]:
        """Return the lasting differences, after all rows and keys were read."""
        if len(self.records) != self.rows or self.suspects:
            self._suspect_records_without_row()
        wrong: dict[str, Family] = {}
        for content in self._read_contents(self.named):
            if not self.sums.agree(content):
                wrong[content.key] = content.family
        missing = self.sums.totals.keys() - self.named.keys()
        if wrong or missing:
            self._look_closely(wrong, missing)
        possible = list(self.suspects)
        possible += self.strays
        pks = [pk for pk in possible if pk not in self.quarantined]
        found = differences(self.kind, pks, self.strays, self.session, self.all_strays)
        note_result(self.mirror.name, len(found))
        return found

    def some(self, count: int) -> list[Difference]:
        """Return the differences of ``count`` random rows (reservoir sampling: one pass, no OFFSET)."""
        chosen: list[str] = []
        for seen, pk in enumerate(self._list_pks()):
            if len(chosen) < count:
                chosen.append(pk)
                continue
            place = random.randrange(seen + 1)
            if place < count:
                chosen[place] = pk
        return differences(self.kind, chosen, {}, self.session)

    def _list_chunks(self) -> Generator[list[str], None, None]:
        size = self.kind.limit_batch(CHUNKS * int(setting("CHUNK")))
        for pks in values.read_batches(self.mirror.name, self.mirror.keys_after, size):
            yield [pk for pk in pks if pk not in self.quarantined]

    def _list_pks(self) -> Generator[str, None, None]:
        for pks in self._list_chunks():
            yield from pks

    def _read_all_targets(self) -> Generator[tuple[list[str], dict[str, Target]], None, None]:
        for pks in self._list_chunks():
            targets, _ = read_targets(self.kind, pks)
            yield pks, targets
            self.progress(self.mirror.name, 0)

    def _compare_own(self, pks: Sequence[str], targets: dict[str, Target], replies: list[Any]) -> None:
        if not replies:
            # The rows have no keys of their own.
            return
        states = self.kind.read_states(pks, replies)
        for pk, stored in zip(pks, states, strict=True):
            if stored != targets.get(pk, ABSENT).own:
                self.suspects[pk] = None

    def _read_contents(self, named: dict[str, Family]) -> Generator[scan.Content, None, None]:
        for count, content in enumerate(scan.contents(self.session, named.items())):
            # Keys are not counted, but the progress shows that the work goes on.
            if count % scan.PIPE == 0:
                self.progress(self.mirror.name, 0)
            yield content

    def _suspect_records_without_row(self) -> None:
        ordered = sorted(self.records - self.quarantined)
        size = int(setting("CHUNK"))
        for start in range(0, len(ordered), size):
            pks = ordered[start : start + size]
            known, _ = read_targets(self.kind, pks)
            unknown = [pk for pk in pks if pk not in known]
            self.suspects.update(dict.fromkeys(unknown))

    def _look_closely(self, wrong: dict[str, Family], missing: set[str]) -> None:
        """Read the members of these keys, and find the rows that have to be compared closely."""
        found: dict[str, dict[str, str]] = defaultdict(dict)  # by key and member
        for content in self._read_contents(wrong):
            found[content.key].update(content.items())
        keys = wrong.keys() | missing
        for _, targets in self._read_all_targets():
            for pk, target in targets.items():
                for entry in single(target.entries):
                    if entry[0] in keys:
                        key, member, value = describe_entry(entry)
                        # What no row pops is left as a stray.
                        if found[key].pop(member, None) != value:
                            self.suspects[pk] = None
        for key, items in found.items():
            if items:
                self._add_strays(wrong[key], key, items)

    def _add_strays(self, family: Family, key: str, items: Mapping[str, str]) -> None:
        """Add these members of a key, with their values, to the strays of the rows that would contribute them."""
        # A string has no member, so its value names the owner.
        members = [member or value for member, value in items.items()]
        owners = family.find_owners(key, members)
        for owner, (member, value) in zip(owners, items.items(), strict=True):
            self.strays[owner].add(make_entry(family, key, member, value))


def make_entry(family: Family, key: str, member: str, value: str) -> Entry:
    """Return the entry in Redis at this place of a key."""
    return STRUCTURES[family.kind].make_entry(key, member, value)
