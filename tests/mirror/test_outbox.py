"""The outbox: exact ids, SQL's own clock, and statements that stay small however much there is."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import ProgrammingError, transaction

from mirror import outbox, relay
from mirror.models import Change
from mirror.recorder import record

pytestmark = pytest.mark.usefixtures("committed", "no_hints")


def make(*keys: str, mirror: str = "titem", **values: Any) -> list[int]:
    return [Change.objects.create(mirror=mirror, key=key, **values).pk for key in keys]


def applied() -> set[int]:
    return set(Change.objects.filter(applied_at__isnull=False).values_list("id", flat=True))


def test_pending_changes_are_found_by_their_keys_also_when_set_aside() -> None:
    first, second, aside = make("1", "1", "2")
    Change.objects.filter(pk=aside).update(quarantined_at=datetime.now(UTC))
    make("3")
    make("1", mirror="tgroup")
    make("1", source="a table")
    make("1", applied_at=datetime.now(UTC))
    found = {key: [change.id for change in changes] for key, changes in outbox.pending_of("titem", ["1", "2"]).items()}
    assert {key: sorted(ids) for key, ids in found.items()} == {"1": [first, second], "2": [aside]}


@pytest.mark.parametrize("count", [0, 1, 5000])
def test_any_number_of_keys_is_one_statement_with_as_many_parameters(count: int) -> None:
    with record() as seen:
        assert outbox.pending_of("titem", [str(n) for n in range(count)]) == {}
    assert len(seen.sql) == 1
    assert seen.sql[0][0].count("%s") == 3


def test_of_many_changes_of_one_key_a_drain_gets_some_and_no_other_key_goes_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outbox, "MOST", 7)
    outbox.append("titem", ["1"] * 30 + ["2"])
    assert {key: len(found) for key, found in outbox.pending_of("titem", ["1", "2"]).items()} == {"1": 7, "2": 1}
    monkeypatch.setattr(outbox, "MOST_AT_ONCE", 6)
    assert {key: len(found) for key, found in outbox.pending_of("titem", ["1", "2"]).items()} == {"1": 3, "2": 1}
    assert set(outbox.pending_of("titem", [str(n) for n in range(100)])) == {"1", "2"}


def test_what_one_drain_leaves_the_next_one_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "MOST", 7)
    outbox.append("titem", ["1"] * 30 + ["2"])
    assert relay.drain_all() == 31
    assert not Change.objects.pending().exists()


def test_of_a_mirror_that_is_gone_all_changes_are_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "MOST", 7)
    outbox.append("gone", ["1"] * 30)
    relay.drain_keys("gone", ["1"])
    assert not Change.objects.pending().exists()


def test_exactly_the_ids_that_are_named_are_marked_and_an_earlier_one_is_not() -> None:
    """It may have been committed after the drain read the rows."""
    earlier, first, second = make("1", "2", "3")
    outbox.mark_applied([first, second], "me")
    assert applied() == {first, second}
    assert Change.objects.get(pk=earlier).applied_at is None


def test_what_was_marked_keeps_its_first_mark() -> None:
    (pk,) = make("1")
    outbox.mark_applied([pk], "one")
    outbox.mark_applied([pk], "another")
    assert Change.objects.get(pk=pk).incarnation == "one"


def test_five_thousand_changes_are_marked_in_one_statement() -> None:
    outbox.append("titem", map(str, range(5000)))
    ids = list(Change.objects.values_list("id", flat=True))
    with record() as seen:
        outbox.mark_applied(ids, "me")
    assert len(seen.sql) == 1
    assert applied() == set(ids)


def test_marking_nothing_asks_nobody() -> None:
    with record() as seen:
        outbox.mark_applied([], "me")
    assert seen.sql == []


def test_the_next_keys_come_in_order_each_once_and_in_steps() -> None:
    make("a", "b", "a", "c")
    keys, last = outbox.next_keys(0, 3)
    assert keys == {"titem": ["a", "b"]}
    assert last is not None
    keys, last = outbox.next_keys(last, 3)
    assert keys == {"titem": ["c"]}
    assert outbox.next_keys(last or 0, 3) == ({}, None)


def test_sources_and_what_was_set_aside_are_not_among_the_next_keys() -> None:
    make("a", source="a table")
    make("b", quarantined_at=datetime.now(UTC))
    assert outbox.next_keys(0, 10) == ({}, None)


def test_a_failure_is_counted_for_all_changes_of_the_key_and_the_third_sets_them_aside() -> None:
    make("1", "1", "2")
    make("1", source="a table")
    for _ in range(2):
        outbox.failed("titem", "1", "no")
    assert not Change.objects.quarantined().exists()
    outbox.failed("titem", "1", "x" * 5000)
    aside = list(Change.objects.quarantined())
    assert {(c.key, c.source, c.attempts, len(c.error)) for c in aside} == {("1", "", 3, 2000)}
    assert len(aside) == 2


def test_old_applied_changes_are_purged_some_at_a_time_and_others_are_kept(settings: Any) -> None:
    settings.MIRROR = {**settings.MIRROR, "KEEP_SECONDS": 10_000}
    now = datetime.now(UTC)
    make(*map(str, range(7)), applied_at=now - timedelta(seconds=20_000))
    kept = make("new", applied_at=now - timedelta(seconds=10)) + make("waits")
    assert [outbox.purge(5), outbox.purge(5), outbox.purge(5)] == [5, 2, 0]
    assert set(Change.objects.values_list("id", flat=True)) == set(kept)


def test_a_whole_step_of_the_purge_fits_a_statement() -> None:
    outbox.append("titem", map(str, range(outbox.PURGE + 1)))
    Change.objects.update(applied_at="2020-01-01T00:00:00Z")
    assert outbox.purge() == outbox.PURGE


def test_what_another_incarnation_applied_since_a_moment_is_pending_again() -> None:
    now = datetime.now(UTC)
    (before,) = make("1", applied_at=now - timedelta(seconds=100), incarnation="old")
    (since,) = make("2", applied_at=now, incarnation="old")
    (ours,) = make("3", applied_at=now, incarnation="new")
    assert outbox.unapply_since(now - timedelta(seconds=50), "new") == 1
    assert applied() == {before, ours}
    assert Change.objects.get(pk=since).incarnation == ""


def test_rows_that_are_to_be_written_anew_keep_the_strays_that_they_name() -> None:
    plain, named = make("1")[0], make("2", strays='[["set", "k", "m"]]')[0]
    outbox.write_anew([plain, named])
    assert Change.objects.get(pk=plain).strays == outbox.ANEW
    assert Change.objects.get(pk=named).strays == '[["set", "k", "m"]]'


def test_inside_a_transaction_the_relay_is_refused() -> None:
    outbox.refuse_transaction()
    with pytest.raises(ProgrammingError, match="transaction"), transaction.atomic():
        outbox.refuse_transaction()
