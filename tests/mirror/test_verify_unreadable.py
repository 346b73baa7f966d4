"""A row that Python cannot read, or whose declaration fails, is reported and hides no other difference."""

from collections.abc import Iterator

import pytest
from django.db import connection, models
from django.test.utils import isolate_apps
from redis import Redis

from mirror import Mirror, Ranking, register
from mirror.capture import install
from mirror.models import Change
from mirror.redis.clients import relay_client
from mirror.relay import drains
from mirror.verify import background, repair, runs
from tests.support.mirror import world
from tests.support.mirror.command import run as run_command
from tests.support.mirror.outbox import run

pytestmark = [
    pytest.mark.usefixtures("own_registry", "committed", "no_hints"),
    pytest.mark.also_on("cluster"),
]
SPOILED = {
    "postgresql": ["at = 'infinity'", "at = '-infinity'", "amount = 'NaN'"],
    "sqlite": ["at = '2026-13-45 00:00:00'", "amount = 'NaN'", "note = CAST(x'ff' AS TEXT)"],
}
CASES = [
    pytest.param(
        value, marks=pytest.mark.only_on("postgres") if vendor == "postgresql" else pytest.mark.only_on("sqlite")
    )
    for vendor, values in SPOILED.items()
    for value in values
]


@pytest.fixture
def moments(committed: None) -> Iterator[type[models.Model]]:
    """Register a mirror of ten rows, which is warm."""
    with isolate_apps("tests.projects.mirrortest"):

        class Moment(models.Model):  # noqa: DJ008
            at = models.DateTimeField(null=True)
            amount = models.DecimalField(null=True, max_digits=10, decimal_places=2)
            note = models.TextField(default="")

            class Meta:
                app_label = "mirrortest"

    class MomentMirror(Mirror):
        name, model, key = "moment", Moment, "tmoment:{pk}"
        fields = ["id", "at", "amount", "note"]
        indexes = [Ranking("tmoments", score="amount")]

    with connection.schema_editor() as editor:
        editor.create_model(Moment)
    register(MomentMirror)
    install.install()
    Moment._base_manager.bulk_create([Moment(pk=pk, amount=pk) for pk in range(1, 11)])
    world.rest()
    yield Moment
    with connection.schema_editor() as editor:
        editor.delete_model(Moment)


def spoil(value: str) -> None:
    """Change the row 4, whose change is lost."""
    run(f"UPDATE mirrortest_moment SET {value} WHERE id = 4")
    Change.objects.all().delete()


def found() -> list[tuple[str, str]]:
    return [(difference.pk, difference.kind) for difference in runs.verify(["moment"])]


@pytest.mark.parametrize("value", CASES)
def test_row_is_reported_with_its_error_and_other_differences_are_found(
    moments: type[models.Model], redis: Redis, value: str
) -> None:
    spoil(value)
    redis.delete("tmoment:7")
    assert sorted(found()) == [("4", "unreadable"), ("7", "missing")]
    ran = run_command("verify", "moment")
    assert ran.code == 1
    assert "moment 4: unreadable: " in ran.out
    assert {d.pk for d in runs.verify(["moment"], sample=100)} == {"4", "7"}


@pytest.mark.parametrize("value", CASES)
def test_repair_quarantines_the_row(moments: type[models.Model], redis: Redis, value: str) -> None:
    spoil(value)
    redis.delete("tmoment:7")
    repair.order(runs.verify(["moment"]))
    for _ in range(5):
        drains.drain_all()
    assert redis.exists("tmoment:7")
    assert found() == [("4", "quarantined")]


@pytest.mark.parametrize("value", CASES)
def test_background_verification_goes_on_and_orders_the_repair(moments: type[models.Model], value: str) -> None:
    spoil(value)
    assert [d.pk for d in background.step(relay_client(), 100_000) if d.mirror == "moment"] == ["4"]
    assert Change.objects.filter(mirror="moment", key="4").exists()


@pytest.mark.parametrize("value", CASES)
def test_row_with_a_pending_change_is_left_out(moments: type[models.Model], value: str) -> None:
    run(f"UPDATE mirrortest_moment SET {value} WHERE id = 4")
    assert found() == []
