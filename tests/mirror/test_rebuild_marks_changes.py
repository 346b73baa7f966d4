"""A rebuild marks the changes that it has applied."""

import pytest

from mirror.models import Change
from mirror.outbox import changes
from mirror.redis.clients import breaker, client
from mirror.redis.recorder import record
from mirror.registry import get
from mirror.relay.drains import drain_all
from mirror.upkeep.rebuild import _Run, rebuild
from mirror.verify.runs import verify
from mirror.warm import marker
from tests.projects.mirrortest.models import Item, Label

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("cluster")]


@pytest.fixture
def pending() -> list[Item]:
    """Create labelled items while the breaker is open, so that every change stays pending."""
    breaker.failed()
    items = [Item.objects.create(name=f"item {n}") for n in range(3)]
    Label.objects.create(name="old").items.set(items)
    Label.objects.filter(name="old").update(name="new")
    changes.append("titem", [changes.WHOLE])
    breaker.reset()
    assert Change.objects.pending().filter(mirror="titem").exclude(source="").exists()
    return items


def test_rebuild_marks_all_changes_from_before_it_began(pending: list[Item]) -> None:
    rebuild(["titem"])
    assert list(Change.objects.pending().filter(mirror="titem")) == []
    with record() as seen:
        drain_all(redis=client())
    asked = [name for name in seen.keys() if "titem:" in name]  # noqa: SIM118
    assert asked == []
    assert marker.is_warm(client(), "titem")
    assert verify(["titem"]) == []


def test_changes_of_sources_during_a_rebuild_are_drained_afterwards(pending: list[Item]) -> None:
    run = _Run(get("titem"), client(), lambda name, rows: None)
    run._begin_rebuild()
    breaker.failed()
    Label.objects.filter(name="new").update(name="newer")
    breaker.reset()
    assert run._all_rows()
    run._mark_sources()
    assert run._finish()
    assert Change.objects.pending().filter(mirror="titem").exclude(source="").count() == 1
    drain_all()
    assert verify(["titem"]) == []
    assert marker.is_warm(client(), "titem")


def test_change_of_everything_during_a_rebuild_makes_the_mirror_cold(pending: list[Item]) -> None:
    run = _Run(get("titem"), client(), lambda name, rows: None)
    run._begin_rebuild()
    changes.append("titem", [changes.WHOLE])
    assert run._all_rows()
    assert run._finish()
    drain_all()
    assert not marker.is_warm(client(), "titem")
