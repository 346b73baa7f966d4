"""The interface of a kind, with the behaviour that most kinds share."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from django.core.checks import CheckMessage
from django.db.models import QuerySet

from mirror.comparison import compare, explained, plan
from mirror.comparison.compare import Difference
from mirror.comparison.explained import Explained
from mirror.comparison.targets import Stored, Target
from mirror.comparison.verification import RowVerification, Verification
from mirror.conf import use_database
from mirror.declare.entries import Contribution, Entry
from mirror.declare.mirrors import Mirror, Record
from mirror.declare.watches import Watch
from mirror.outbox import changes as outbox
from mirror.outbox.errors import raise_if_away
from mirror.redis.session import Command, Session
from mirror.redis.types import RedisClient
from mirror.utils.callbacks import ProgressCallback
from mirror.utils.queries import Query, Row
from mirror.utils.rows import all_rows

Reader = Callable[[str | None, int], list[str]]  # returns up to that many keys after the given one


def touch(key: str) -> list[Command]:
    """Return commands that leave no key but break the WATCH of other drains. DEL of a missing key would not."""
    # Redis notifies watchers of each write, whatever the final value is. A tombstone would stay behind.
    return [("SET", key, ""), ("DEL", key)]


class Kind:
    """The behaviour of one mirror that depends on its kind.

    The *state* of a row is the decoded value of its own key in Redis, or of what else its drain reads there.
    """

    mirror: Mirror
    encode: Callable[[Record], Stored]  # a record in the form of the row's own key; only of kinds with records
    declaration: ClassVar[type[Mirror]] = Mirror  # the base class of the kind's declarations
    needed: ClassVar[Sequence[str]] = ()  # the methods that a declaration has to define
    is_lazy: ClassVar[bool] = False  # whether rows are in Redis only while they are read
    key_names_entries: ClassVar[bool] = False  # whether the key of a row determines the entries that it may have
    can_share: ClassVar[bool] = True  # whether one transaction can write rows of this mirror and of others
    fault_of_whole: ClassVar[str] = ""  # why no watch of such a mirror can be ``whole``, or ""

    def __init__(self, mirror: Any) -> None:
        self.mirror = mirror

    # Read and decode.

    def watched(self, pk: str) -> str:
        """Return the key that every drain of the row watches and writes."""
        return self.mirror.record_key(pk)

    def home(self, pk: str) -> str:
        """Return the key whose slot contains the row's fence on a cluster."""
        return self.watched(pk)

    def watches(self, pks: Sequence[str]) -> list[str]:
        """Return the keys that a drain of these rows watches, without duplicates."""
        return list(map(self.watched, pks))

    def ask(self, pks: Sequence[str]) -> list[Command]:
        """Return the commands that read the present state of these rows."""
        raise NotImplementedError

    def read_states(self, pks: Sequence[str], replies: Sequence[Any]) -> list[Stored]:
        """Return the states in the replies to ``ask``, one for each row."""
        raise NotImplementedError

    def decode(self, stored: Stored) -> Record | None:
        """Return the record in a state, or None without one."""
        return None

    def find_row(self, key: str) -> str | None:
        """Return the row that has this key of its own, or None. A reader in doubt asks about it."""
        return self.mirror.pk_of(key)

    # Plan.

    def pending(self, pks: Sequence[str]) -> dict[str, list[outbox.Pending]]:
        """Return the changes that a drain of these rows applies, by the row that covers them."""
        # A row may have this text as its key, but no drain of a row applies a change of everything.
        rows = [pk for pk in pks if pk != outbox.WHOLE]
        return outbox.pending_of(self.mirror.name, rows, self.mirror.version)

    def load(self, pks: Sequence[str]) -> Mapping[str, Any]:
        """Return the rows. Impossible keys (of strays) are left out if ``load`` fails because of them.

        They are never those of a read replica: drains, rebuilds and verifications load rows here. Raises TypeError for
        keys that are not text, because all rows would then seem to be deleted.
        """
        with use_database(None):
            try:
                found = self.mirror.load(pks)
            except Exception:
                possible = [pk for pk in pks if self.mirror.is_possible(pk)]
                if len(possible) == len(pks):
                    raise
                found = self.mirror.load(possible)
        self._check_loaded(found)
        return found

    def write_queries(self, pks: Sequence[str]) -> list[Query] | None:
        """Return the queries of ``load``, or None if it is a method of the declaration.

        A drain may send them in the round trip that reads the pending changes.
        """
        return None

    def build_targets(self, results: Sequence[Sequence[Row]]) -> dict[str, Target]:
        """Return the same as ``wanted`` by the results of ``write_queries``."""
        raise NotImplementedError

    def _check_loaded(self, found: Any) -> None:
        if not isinstance(found, Mapping):
            raise TypeError(
                f"{self.mirror.name}: load() returned {found!r:.100}, which is no mapping from keys to rows"
            )
        for pk in found:
            if type(pk) is not str:
                raise TypeError(f"{self.mirror.name}: load() returned the key {pk!r}; keys are str, as they were given")

    def targets(self, pks: Sequence[str]) -> dict[str, Target]:
        """Return the expected content for these rows by SQL. Missing rows are left out.

        Raises TypeError, naming mirror, row and place, for values of the wrong type.
        """
        raise NotImplementedError

    def wanted(self, pks: Sequence[str], stored: Sequence[Stored]) -> dict[str, Target]:
        """Return the content that a drain writes for these rows, given their present states."""
        return self.targets(pks)

    def settle(self, pk: str, stored: Stored, target: Target) -> Target:
        """Return the expected content at rest, given a row's present state and its content by SQL."""
        return target

    def before(self, pk: str, stored: Stored) -> Iterable[Contribution]:
        """Return the entries for which a state accounts."""
        raise NotImplementedError

    def accounted(self, pk: str, stored: Stored) -> list[Contribution]:
        """Return the entries for which a state accounts, or none for a state that is not this declaration's."""
        try:
            return list(self.before(pk, stored))
        except Exception as error:
            # A record of another layout or from another writer may raise anything. Verification finds its entries.
            # ``index`` may look an unchangeable row up, so SQL may be away.
            raise_if_away(error)
            return []

    def difference(
        self, pk: str, stored: Stored, strays: Sequence[Entry], target: Target
    ) -> tuple[Sequence[Entry], Sequence[Contribution]]:
        """Return the entries to remove and those to add, to get from a state and ``strays`` to ``target``."""
        before = self.accounted(pk, stored) + list(strays)
        return plan.difference(before, target.entries)

    # Write.

    def write(self, owns: Mapping[str, Stored]) -> list[Command]:
        """Return the commands that write the rows' own keys. They write even if the value is unchanged."""
        raise NotImplementedError

    def conditions(self, pk: str, stored: Stored) -> list[Command]:
        """Return the conditions under which a drain of a row in this state may end on a cluster."""
        return []

    def finish(self, owns: Mapping[str, Stored]) -> list[Command]:
        """Return the commands with which a drain of these rows ends on a cluster, each with one key or MSET."""
        return self.write(owns)

    def replace_rows(self, pks: Sequence[str]) -> int:
        """Write these rows in SQL and mark their changes. Return the number of changes. For ``is_in_sql`` alone."""
        raise NotImplementedError

    # Go through all rows.

    def limit_batch(self, rows: int) -> int:
        """Return how many rows to read or write together, where ``rows`` suits most mirrors."""
        return rows

    def list_readers(self) -> list[Reader]:
        """Return the functions that together list the keys of all rows which can differ from SQL."""
        return [self.mirror.keys_after]

    def select_present(self, pks: Sequence[str], redis: RedisClient) -> list[str]:
        """Return the rows among ``pks`` that a rebuild writes."""
        return list(pks)

    # Verify.

    def verification(self, session: Session, progress: ProgressCallback, *, all_strays: bool) -> Verification:
        """Return a verification of the mirror. all_strays: see ``compare.look``."""
        return RowVerification(self, session, progress, all_strays)

    def compare(self, pks: Sequence[str], strays: Mapping[str, Iterable[Entry]], session: Session) -> list[Difference]:
        """Return the lasting differences of these rows, without quarantined rows. strays: as for ``compare.look``."""
        quarantined = {difference.pk for difference in compare.quarantined([self.mirror.name])}
        compared = [pk for pk in pks if pk not in quarantined]
        return compare.differences(self, compared, strays, session)

    def compare_sample(
        self,
        session: Session,
        list_keys: Callable[[], Sequence[str]],
        list_rows: Callable[[], Sequence[str]],
        limit: int,
    ) -> list[Difference]:
        """Return the differences of a sample: of these rows of SQL, or of ``limit`` rows with these keys of Redis."""
        return self.compare(list_rows(), {}, session)

    # Count and explain.

    def list_rows(self) -> "QuerySet[Any] | None":
        """Return the rows of SQL that the mirror shows, or None if they are not those of its model."""
        return all_rows(self.mirror.model)

    def count_rows(self) -> int | None:
        """Return the number of rows in SQL, including filtered ones. None: they would have to be counted one by one."""
        rows = self.list_rows()
        if rows is None:
            return None
        return rows.count()

    def name_model(self) -> str:
        """Return the label of the model whose rows can be explained, or ""."""
        model = getattr(self.mirror, "model", None)
        if model is None:
            return ""
        return str(model._meta.label)

    def name_key(self, pk: str) -> str:
        """Return the key of the row that an explanation shows."""
        return self.watched(pk)

    def explain(self, pk: str, session: Session) -> Explained:
        """Explain one row."""
        return explained.explain_row(self, pk, session)

    # Check.

    def check(self) -> Iterator[CheckMessage]:
        """Yield the faults of the declaration that only this kind can have."""
        yield from ()

    def find_fault_of_push(self, watch: Watch) -> str:
        """Return why rows of this watch cannot be pushed, or ""."""
        return "pushed requires a lazy WindowMirror"
