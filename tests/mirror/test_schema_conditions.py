"""Conditions that fail only when they run: no write fails, the mirror says why, and other rows do not wait.

A project may give fields lookups and transforms of its own.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import models, transaction
from django.test.utils import register_lookup

from mirror import Count, Mirror, register, status
from mirror.capture import install
from mirror.checks.database import check_queries
from mirror.models import Change
from mirror.relay import drains
from tests.mirror.schemas import Create, Declare, Sample, assert_equal

pytestmark = [
    pytest.mark.usefixtures("own_registry", "committed", "no_hints", "isolated"),
    pytest.mark.also_on("sqlite"),
]


class Share(models.Transform):
    """Twelve divided by a number. Zero is an error: SQLite has none for a division, but for broken JSON."""

    lookup_name = "share"
    output_field = models.IntegerField()
    template = "(12 / %(expressions)s)"

    def as_sqlite(self, compiler: Any, connection: Any, **kwargs: Any) -> Any:
        number, parameters = compiler.compile(self.lhs)
        return f"json_extract(CASE {number} WHEN 0 THEN '[' ELSE 12 / {number} END, '$')", parameters * 2


class Absent(models.Transform):
    """A function that no database has."""

    lookup_name = "absent"
    function = "no_such_function"


@pytest.fixture(autouse=True)
def lookups() -> Iterator[None]:
    with register_lookup(models.IntegerField, Share, Absent):
        yield


def reported() -> list[str]:
    return [message.msg for message in check_queries(databases=["default"])]


def exhaust() -> None:
    """Drain until each failing change is quarantined."""
    while Change.objects.pending().exists():
        drains.drain_all()


class TestAtRuntime:
    @pytest.fixture
    def lots(self, tables: Create) -> type[models.Model]:
        class Lot(Sample):
            size = models.IntegerField()
            parent = models.ForeignKey("self", models.CASCADE, null=True, related_name="parts")

        tables(Lot)
        return Lot

    @pytest.mark.parametrize("where", [models.Q(size__share=4), models.Q(size__share__gt=1, parent=None)])
    def test_row_that_no_condition_can_judge_is_quarantined(
        self, lots: type[models.Model], declare: Declare, where: models.Q
    ) -> None:
        rows = lots._base_manager
        good = rows.create(size=3)
        mirror = declare(lots, fields=["size"], where=where)
        bad = rows.create(size=0)
        with transaction.atomic():
            rows.filter(pk=good.pk).update(size=3)
            other = rows.create(size=3)
        exhaust()
        [quarantined] = Change.objects.quarantined()
        assert (quarantined.mirror, quarantined.key) == ("odd", str(bad.pk))
        assert quarantined.error.startswith(("DataError: division by zero", "OperationalError: malformed JSON"))
        [found] = [one for one in status.statuses() if one.mirror == "odd"]
        assert (found.quarantined, found.pending) == (1, 0)
        assert mirror.get_many([good.pk, other.pk]) == {good.pk: {"size": 3}, other.pk: {"size": 3}}
        rows.filter(pk=bad.pk).update(size=3)
        assert assert_equal(mirror)[str(bad.pk)] == {"size": 3}

    def test_failing_condition_of_a_count_concerns_its_row_alone(
        self, lots: type[models.Model], declare: Declare
    ) -> None:
        rows = lots._base_manager
        one, other = rows.create(size=3), rows.create(size=3)
        mirror = declare(lots, fields=[Count("parts", where=models.Q(size__share=4))])
        rows.create(size=0, parent_id=one.pk)
        rows.create(size=3, parent_id=other.pk)
        exhaust()
        assert [change.key for change in Change.objects.quarantined()] == [str(one.pk)]
        assert mirror.get(other.pk) == {"parts_count": 1}

    def test_hint_of_a_failing_row_does_not_fail_the_write(self, lots: type[models.Model], declare: Declare) -> None:
        declare(lots, fields=["size"], where=models.Q(size__share=4))
        lots._base_manager.create(size=0)


class TestBeforehand:
    @pytest.mark.parametrize(
        ("where", "reason"),
        [
            (models.Q(size__absent=1), "no_such_function"),
            (models.Q(name__regex="["), "regular expression|user-defined function"),
            pytest.param(models.Q(size__in=[10**30]), "too large", marks=pytest.mark.only_on("sqlite")),
        ],
    )
    @pytest.mark.parametrize("is_counted", [False, True])
    def test_condition_that_fails_for_each_row_is_refused(
        self, tables: Create, where: models.Q, reason: str, is_counted: bool
    ) -> None:
        class Slot(Sample):
            size = models.IntegerField()
            name = models.TextField()
            parent = models.ForeignKey("self", models.CASCADE, null=True, related_name="parts")

        tables(Slot)
        root = Slot._base_manager.create(size=1, name="a")
        Slot._base_manager.create(size=1, name="a", parent_id=root.pk)
        condition: dict[str, Any] = {"fields": [Count("parts", where=where)]} if is_counted else {"where": where}
        register(type("OddMirror", (Mirror,), {"model": Slot, "key": "tkind:{pk}", "fields": ["size"], **condition}))
        install.install()
        [message] = reported()
        assert "cannot select the rows of mirror 'odd'" in message
        assert any(word in message for word in reason.split("|"))

    def test_function_that_is_missing_is_refused_before_there_is_a_row(self, tables: Create) -> None:
        class Slot(Sample):
            size = models.IntegerField()

        tables(Slot)
        body = {"model": Slot, "key": "tkind:{pk}", "fields": ["size"], "where": models.Q(size__absent=1)}
        register(type("OddMirror", (Mirror,), body))
        [message] = reported()
        assert "no_such_function" in message

    def test_table_that_a_migration_follows_is_no_fault_of_a_condition(self) -> None:
        class Slot(Sample):
            size = models.IntegerField()

        body = {"model": Slot, "key": "tkind:{pk}", "fields": ["size"], "where": models.Q(size=1)}
        register(type("OddMirror", (Mirror,), body))
        assert reported() == []
