"""Background verification: compare a few keys in each step, and repair the differences, pass after pass.

A pass reads in both directions. First it reads the *rows* of each mirror by keyset, and compares their records and
entries: this finds what was edited or deleted in Redis. Then it scans the *keys* of Redis, and traces their members to
rows: this finds what was added. The sweep takes a step every ten seconds. Redis stores the position, so any process
continues, also after a restart. If the position is lost with Redis, the mirrors are rebuilt anyway.

Each row is compared closely. Checksums, as in ``mirror verify``, prove something only after all rows were read, and
writes between the first and the last step spoil them. Random samples would leave a third of the keys unread in the time
of a pass.
"""

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final

import orjson

from mirror import registry
from mirror.comparison import scan
from mirror.comparison.compare import Difference
from mirror.comparison.verification import make_entry, note_result
from mirror.conf import setting
from mirror.declare.entries import Entry
from mirror.declare.mirrors import Mirror
from mirror.declare.watches import Family
from mirror.kinds import kind_of
from mirror.outbox import changes
from mirror.outbox.errors import raise_if_away
from mirror.redis import naming
from mirror.redis.session import Session
from mirror.redis.types import RedisClient
from mirror.verify import repair
from mirror.warm import marker, sentinels

logger = logging.getLogger("mirror")
STEP_SECONDS: Final = 10
# SCAN commands in one step. Redis may have many keys of other code, which SCAN lists as well.
SCANS: Final = 20


@dataclass
class Position:
    """The position in a pass, and the findings of the pass by mirror.

    mirror: the one whose rows are read, "" while keys are scanned. after: the last row. is_stored: the rows of a table
    mirror are read in the other direction. scan: the cursor for further keys, None after the last ones. keys: those
    to read next. cursor: the position in the members of the first of them. last: a difference, without its values.
    """

    mirror: str
    after: str | None = None
    is_stored: bool = False
    scan: str | None = "0"
    keys: list[str] = field(default_factory=list)
    cursor: str = "0"
    rows: dict[str, int] = field(default_factory=dict)
    found: dict[str, int] = field(default_factory=dict)
    last: dict[str, str] = field(default_factory=dict)

    def note(self, mirror: str, text: str) -> None:
        """Count a difference."""
        self.found[mirror] = self.found.get(mirror, 0) + 1
        self.last[mirror] = text
        logger.warning("Background verification: %s %s", mirror, text)


def parse(stored: bytes | None) -> Position:
    """Return the stored position, or the beginning of a pass if there is none that this code understands."""
    names = [mirror.name for mirror in registry.all_mirrors()]
    beginning = Position(names[0] if names else "")
    try:
        position = Position(**orjson.loads(stored or b""))
    except (TypeError, ValueError):
        return beginning
    # "" is the position while keys are scanned. Other code may have stored a mirror that this code lacks.
    return position if position.mirror in ("", *names) else beginning


def step_if_due(redis: RedisClient) -> None:
    """Take a step if the last one of all processes was ``STEP_SECONDS`` ago, unless bulk work is pending."""
    count = round(float(setting("VERIFY_PER_MINUTE")) * STEP_SECONDS / 60)
    if count < 1 or len(changes.awaited()) > changes.MUCH:
        return
    # This lease is never released: its life is the time until the next step of any process.
    if redis.set(naming.lease("verify"), 1, nx=True, px=STEP_SECONDS * 1000):
        step(redis, count)


def step(redis: RedisClient, count: int) -> list[Difference]:
    """Compare about ``count`` rows or members, and order the repair of their differences. Return these.

    Raises redis-py's errors and Django's database errors; the next step then repeats this one.
    """
    walk = _Walk(parse(redis.get(naming.verification())), redis)
    found = walk.run(count)
    # A master of a cluster was emptied: the next sweep orders a rebuild, so single repairs are left out.
    if found and sentinels.was_emptied(redis, "mirror"):
        return []
    for difference in found:
        walk.position.note(difference.mirror, _describe_place(difference))
    # Ordered before the position is saved: after a crash in between, the step finds the differences again.
    repair.order(found)
    position = walk.position
    if walk.is_over:
        for name in position.rows:
            note_result(name, position.found.get(name, 0))
        position = parse(None)
    redis.set(naming.verification(), orjson.dumps(asdict(position)))
    return found


def _describe_place(difference: Difference) -> str:
    """Return where a row differs, on one line."""
    place = difference.key
    if difference.entry:
        key, member = difference.entry[:2]
        place = f"{key} {member}"
    return f"{difference.pk}: {difference.kind} {place}"


class _Walk:
    """One step."""

    def __init__(self, position: Position, redis: RedisClient) -> None:
        self.position = position
        self.redis = redis
        self.is_over = False

    def run(self, count: int) -> list[Difference]:
        """Compare until the count is reached or the pass is over."""
        found: dict[Difference, None] = {}
        while count > 0 and not self.is_over:
            if self.position.mirror:
                done, differences = self._compare_rows(count)
            else:
                done, differences = self._compare_keys(count)
            found |= dict.fromkeys(differences)
            count -= done
        return list(found)

    def _compare_rows(self, count: int) -> tuple[int, list[Difference]]:
        """Compare the next rows of SQL. Return their number and the differences."""
        position = self.position
        mirror = registry.get(position.mirror)
        pks = self._list_next_rows(mirror, count)
        if not pks:
            self._go_on(mirror)
            return 0, []
        position.after = pks[-1]
        position.rows[mirror.name] += len(pks)
        return len(pks), self._compare_closely(mirror, pks, {})

    def _list_next_rows(self, mirror: Mirror, count: int) -> list[str]:
        # A cold mirror is rebuilt. Without an entry in ``rows`` its keys are left out of the pass as well.
        if not marker.is_warm(self.redis, mirror.name):
            return []
        self.position.rows.setdefault(mirror.name, 0)
        kind = kind_of(mirror)
        readers = kind.list_readers()
        # The second one is that of a table mirror: it lists stored rows, which may lack a source.
        number = 1 if self.position.is_stored else 0
        if number >= len(readers):
            return []
        return readers[number](self.position.after, kind.limit_batch(count))

    def _go_on(self, mirror: Mirror) -> None:
        """Continue with the other direction of a table mirror, the next mirror, or the keys of Redis."""
        position = self.position
        position.after = None
        position.is_stored = mirror.is_in_sql and not position.is_stored
        if not position.is_stored:
            names = [known.name for known in registry.all_mirrors()]
            following = names[names.index(mirror.name) + 1 :]
            position.mirror = following[0] if following else ""

    def _list_owned(self) -> list[scan.Owned]:
        """Return the mirrors whose keys are read: those whose rows were read in this pass, unless they are cold now."""
        read = [mirror for mirror in registry.all_mirrors() if mirror.name in self.position.rows]
        in_redis = [mirror for mirror in read if not mirror.is_in_sql]
        cold = marker.list_cold(self.redis, [mirror.name for mirror in in_redis])
        return [scan.Owned(mirror) for mirror in in_redis if mirror.name not in cold]

    def _compare_keys(self, count: int) -> tuple[int, list[Difference]]:
        """Compare the rows to which the next members in Redis belong. Return the members' number and differences."""
        owned = self._list_owned()
        rows: _Rows = defaultdict(lambda: defaultdict(list))
        done = 0
        with Session(self.redis) as session:
            if not self.position.keys:
                self._find_keys(session, owned, count)
            if not self.position.keys:
                # Only keys of other code so far, or the end.
                return count, []
            while self.position.keys and done < count:
                done += self._read_key(session, owned, rows, count - done)
        found = []
        for name, strays in rows.items():
            found += self._compare_closely(registry.get(name), list(strays), strays)
        return done, found

    def _find_keys(self, session: Session, owned: Sequence[scan.Owned], count: int) -> None:
        """Scan for keys of these mirrors."""
        position = self.position
        for _ in range(SCANS):
            if position.scan is None or not owned:
                self.is_over = True
                return
            cursor, names = scan.next_keys(session, position.scan, count)
            position.scan = None if cursor in scan.DONE else cursor
            position.keys = [name for name in names if _is_owned(name, owned)]
            position.cursor = "0"
            if position.keys:
                return

    def _read_key(self, session: Session, owned: Sequence[scan.Owned], rows: "_Rows", count: int) -> int:
        """Trace the next members of the first key to their rows. Return their number, or 1 for a key without any."""
        position = self.position
        key = position.keys[0]
        cursor = "0"
        done = 0
        for of_mirror in owned:
            name = of_mirror.mirror.name
            pk = of_mirror.pk_of(key)
            if pk is not None:
                rows[name].setdefault(pk, [])
                break
            family = of_mirror.family_of(key)
            if family is None:
                continue
            if kind_of(of_mirror.mirror).is_lazy:
                # A window is compared as a whole.
                rows[name].setdefault(family.owner(key, ""), [])
            else:
                cursor, done = self._trace_members(session, name, family, rows, count)
            break
        position.cursor = cursor
        if cursor in scan.DONE:
            position.keys = position.keys[1:]
        return max(1, done)

    def _trace_members(
        self, session: Session, mirror: str, family: Family, rows: "_Rows", count: int
    ) -> tuple[str, int]:
        """Note the next members of the first key as possible strays of their rows. Return the cursor and their number.

        A key of the wrong type is reported. One with a part that is no text is continued after this part.
        """
        position = self.position
        key = position.keys[0]
        cursor = "0"
        try:
            content, cursor = scan.next_members(session, key, family, position.cursor, count)
            items = list(content.items())
        except scan.WrongType as error:
            # The key stays: SQL answers for it, and without it readers would miss the row.
            position.note(mirror, str(error))
            return cursor, 0
        # A string has no member: its row is found by its value.
        owners = family.find_owners(key, [member or value for member, value in items])
        for row, (member, value) in zip(owners, items, strict=True):
            rows[mirror][row].append(make_entry(family, key, member, value))
        return cursor, len(items)

    def _compare_closely(
        self, mirror: Mirror, pks: Sequence[str], strays: Mapping[str, list[Entry]]
    ) -> list[Difference]:
        """Return the lasting differences of these rows. A row that cannot be compared does not stop the others."""
        try:
            with Session(self.redis) as session:
                return kind_of(mirror).compare(pks, strays, session)
        except Exception as error:
            # A key of the wrong type, or any error of the declaration.
            raise_if_away(error)
            middle = len(pks) // 2
            if middle > 0:
                found = self._compare_closely(mirror, pks[:middle], strays)
                found += self._compare_closely(mirror, pks[middle:], strays)
                return found
            # The text of an error of the declaration may contain values of the row.
            text = str(error) if isinstance(error, scan.WrongType) else f"{pks[0]}: {type(error).__name__}"
            self.position.note(mirror.name, text)
            return []


def _is_owned(name: str, owned: Sequence[scan.Owned]) -> bool:
    return any(of_mirror.has(name) for of_mirror in owned)


_Rows = defaultdict[str, defaultdict[str, list[Entry]]]  # entries in Redis, by mirror and row
