"""The outbox names exact ids, uses SQL's clock, and sends statements of bounded size."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import ProgrammingError, transaction
from pytest_django.fixtures import Settings

from mirror.models import Change
from mirror.outbox import changes as outbox
from mirror.redis.recorder import record
from mirror.relay import drains

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.also_on("sqlite")]


def make(*keys: str, mirror: str = "titem", **values: Any) -> list[int]:
    return [Change.objects.create(mirror=mirror, key=key, **values).pk for key in keys]


def applied() -> set[int]:
    return set(Change.objects.filter(applied_at__isnull=False).values_list("id", flat=True))


def test_pending_of_finds_pending_and_quarantined_changes_by_key() -> None:
    first, second, aside = make("1", "1", "2")
    Change.objects.filter(pk=aside).update(quarantined_at=datetime.now(UTC))
    make("3")
    make("1", mirror="tgroup")
    make("1", source="a table")
    make("1", applied_at=datetime.now(UTC))
    found = {key: [change.id for change in changes] for key, changes in outbox.pending_of("titem", ["1", "2"]).items()}
    assert {key: sorted(ids) for key, ids in found.items()} == {"1": [first, second], "2": [aside]}


@pytest.mark.parametrize("count", [0, 1, 5000])
def test_any_number_of_keys_takes_one_statement_with_few_parameters(count: int) -> None:
    with record() as seen:
        assert outbox.pending_of("titem", [str(n) for n in range(count)]) == {}
    assert len(seen.sql) == 1
    assert seen.sql[0][0].count("%s") == 5


def test_drain_gets_a_bounded_number_of_changes_of_every_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outbox, "MOST", 7)
    outbox.append("titem", ["1"] * 30 + ["2"])
    assert {key: len(found) for key, found in outbox.pending_of("titem", ["1", "2"]).items()} == {"1": 7, "2": 1}
    monkeypatch.setattr(outbox, "MOST_AT_ONCE", 6)
    assert {key: len(found) for key, found in outbox.pending_of("titem", ["1", "2"]).items()} == {"1": 3, "2": 1}
    assert set(outbox.pending_of("titem", [str(n) for n in range(100)])) == {"1", "2"}


def test_next_drain_finds_the_remaining_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "MOST", 7)
    outbox.append("titem", ["1"] * 30 + ["2"])
    assert drains.drain_all() == 31
    assert not Change.objects.pending().exists()


def test_all_changes_of_an_unregistered_mirror_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "MOST", 7)
    outbox.append("gone", ["1"] * 30)
    drains.drain_keys("gone", ["1"])
    assert not Change.objects.pending().exists()


def test_exactly_the_given_ids_are_marked() -> None:
    """The earlier change may have been committed after the drain read the rows."""
    earlier, first, second = make("1", "2", "3")
    outbox.mark_applied([first, second], "me")
    assert applied() == {first, second}
    assert Change.objects.get(pk=earlier).applied_at is None


def test_marked_change_keeps_its_first_mark() -> None:
    (pk,) = make("1")
    outbox.mark_applied([pk], "one")
    outbox.mark_applied([pk], "another")
    assert Change.objects.get(pk=pk).incarnation == "one"


def test_5000_changes_are_marked_in_one_statement() -> None:
    outbox.append("titem", map(str, range(5000)))
    ids = list(Change.objects.values_list("id", flat=True))
    with record() as seen:
        outbox.mark_applied(ids, "me")
    assert len(seen.sql) == 1
    assert applied() == set(ids)


def test_marking_no_ids_sends_nothing() -> None:
    with record() as seen:
        outbox.mark_applied([], "me")
    assert seen.sql == []


def test_next_keys_are_ordered_unique_and_paged() -> None:
    make("a", "b", "a", "c")
    keys, last = outbox.next_keys(0, 3)
    assert keys == {"titem": ["a", "b"]}
    assert last is not None
    keys, last = outbox.next_keys(last, 3)
    assert keys == {"titem": ["c"]}
    assert outbox.next_keys(last or 0, 3) == ({}, None)


def test_sources_and_quarantined_changes_are_not_next_keys() -> None:
    make("a", source="a table")
    make("b", quarantined_at=datetime.now(UTC))
    assert outbox.next_keys(0, 10) == ({}, None)


def test_third_failure_quarantines_all_changes_of_the_key() -> None:
    make("1", "1", "2")
    make("1", source="a table")
    for _ in range(2):
        outbox.failed("titem", "1", "no")
    assert not Change.objects.quarantined().exists()
    outbox.failed("titem", "1", "x" * 5000)
    aside = list(Change.objects.quarantined())
    assert {(c.key, c.source, c.attempts, len(c.error)) for c in aside} == {("1", "", 3, 2000)}
    assert len(aside) == 2


def test_purge_deletes_old_applied_changes_in_steps(settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "KEEP_SECONDS": 10_000}
    now = datetime.now(UTC)
    make(*map(str, range(7)), applied_at=now - timedelta(seconds=20_000))
    kept = make("new", applied_at=now - timedelta(seconds=10)) + make("waits")
    assert [outbox.purge(5, below=max(kept)) for _ in range(3)] == [5, 2, 0]
    assert set(Change.objects.values_list("id", flat=True)) == set(kept)


def test_purge_step_fits_into_one_statement() -> None:
    outbox.append("titem", map(str, range(outbox.PURGE + 1)))
    Change.objects.update(applied_at="2020-01-01T00:00:00Z")
    last = Change.objects.latest("id").id
    assert outbox.purge(below=last) == outbox.PURGE
    assert outbox.purge(below=last) == 0
    assert Change.objects.get().id == last


def test_changes_applied_by_another_incarnation_since_a_moment_become_pending() -> None:
    now = datetime.now(UTC)
    (before,) = make("1", applied_at=now - timedelta(seconds=100), incarnation="old")
    (since,) = make("2", applied_at=now, incarnation="old")
    (ours,) = make("3", applied_at=now, incarnation="new")
    assert outbox.unapply_since(now - timedelta(seconds=50), "new") == 1
    assert applied() == {before, ours}
    assert Change.objects.get(pk=since).incarnation == ""


def test_marking_as_incomplete_keeps_the_strays_that_a_change_names() -> None:
    plain, named = make("1")[0], make("2", strays='[["set", "k", "m"]]')[0]
    outbox.mark_incomplete([plain, named])
    assert Change.objects.get(pk=plain).strays == outbox.INCOMPLETE
    assert Change.objects.get(pk=named).strays == '[["set", "k", "m"]]'


def test_relay_inside_a_transaction_is_refused() -> None:
    outbox.refuse_transaction()
    with pytest.raises(ProgrammingError, match="transaction"), transaction.atomic():
        outbox.refuse_transaction()
