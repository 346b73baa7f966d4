"""Hints of rows that are written as instances of a proxy or of a child: Redis has them when the write returns."""

from typing import Any

import pytest
from django.db import models

from mirror import Mirror, registry
from mirror.models import Change
from mirror.outbox.changes import WHOLE
from mirror.relay import signals
from tests.mirror.schemas import Create, Declare, Model, Sample

pytestmark = [pytest.mark.usefixtures("own_registry", "committed", "isolated"), pytest.mark.also_on("sqlite")]


@pytest.fixture
def family(tables: Create, declare: Declare) -> tuple[type[Mirror], dict[str, Model]]:
    """Return a mirror of a parent that deletes inline, and the models whose instances write its rows."""

    class Venue(Sample):
        name = models.TextField()

    class OldVenue(Venue):
        class Meta:
            app_label, proxy = "mirrortest", True

    class Bar(Venue):
        seats = models.IntegerField(default=1)

        class Meta:
            app_label = "mirrortest"

    class OldBar(Bar):
        class Meta:
            app_label, proxy = "mirrortest", True

    tables(Venue, Bar)
    mirror = declare(Venue, fields=["name"], inline_deletes=True)
    signals.connect()
    return mirror, {model.__name__: model for model in (Venue, OldVenue, Bar, OldBar)}


@pytest.mark.parametrize("name", ["Venue", "OldVenue", "Bar", "OldBar"])
def test_row_of_a_relative_is_drained_at_once(family: tuple[type[Mirror], dict[str, Model]], name: str) -> None:
    mirror, relatives = family
    row: Any = relatives[name](name="a")
    row.save()
    assert mirror.get(row.pk) == {"name": "a"}
    assert not Change.objects.pending().filter(mirror=mirror.name).exclude(key=WHOLE).exists()
    row.name = "b"
    row.save(update_fields=["name"])
    assert not Change.objects.pending().filter(mirror=mirror.name).exclude(key=WHOLE).exists()
    key = row.pk
    row.delete()
    assert not Change.objects.pending().filter(mirror=mirror.name).exclude(key=WHOLE).exists()
    assert mirror.get(key) is None


def test_mirror_of_a_proxy_is_drained_after_writes_of_its_model(
    family: tuple[type[Mirror], dict[str, Model]], declare: Declare
) -> None:
    registry.unregister("odd")
    mirror = declare(family[1]["OldVenue"], fields=["name"])
    signals.connect()
    row = family[1]["Bar"]._base_manager.create(name="a")
    assert mirror.get(row.pk) == {"name": "a"}
    assert not Change.objects.pending().filter(mirror=mirror.name).exclude(key=WHOLE).exists()
