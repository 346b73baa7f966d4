"""Mirrors leave Django its fast paths: it sends the same SQL for deletions and links as without them."""

import re
from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from mirror import registry
from mirror.relay import signals
from tests.projects.mirrortest.models import Group, Item, Label

pytestmark = pytest.mark.usefixtures("committed", "own_registry")
OPERATIONS: dict[str, Callable[[], object]] = {
    "all rows": lambda: Item.objects.all().delete(),
    "some rows": lambda: Item.objects.filter(score__gt=1).delete(),
    "one row": lambda: Item.objects.earliest("pk").delete(),
    "a row with dependent rows": lambda: Group.objects.get().delete(),
    "all rows with dependent rows": lambda: Group.objects.all().delete(),
    "add": lambda: Item.objects.earliest("pk").labels.add(*Label.objects.all()),
    "add from the other end": lambda: Label.objects.earliest("pk").items.add(*Item.objects.all()),
    "remove": lambda: Item.objects.earliest("pk").labels.remove(Label.objects.earliest("pk")),
    "set": lambda: Item.objects.earliest("pk").labels.set(Label.objects.filter(name="green")),
    "clear": lambda: Item.objects.earliest("pk").labels.clear(),
    "clear from the other end": lambda: Label.objects.earliest("pk").items.clear(),
}


def list_statements(work: Callable[[], object]) -> list[str]:
    """Return the SQL of this work on new rows, without numbers."""
    Group.objects.all().delete()
    Label.objects.all().delete()
    group = Group.objects.create(name="a group")
    items = Item.objects.bulk_create([Item(name=name, group=group, score=n) for n, name in enumerate("abc")])
    labels = Label.objects.bulk_create([Label(name=name) for name in ("red", "green")])
    links = Item.labels.through
    links.objects.bulk_create([links(item=item, label=labels[0]) for item in items])
    with CaptureQueriesContext(connection) as captured:
        work()
    return [re.sub(r"\d+(, \d+)*", "?", query["sql"]) for query in captured.captured_queries]


@pytest.mark.parametrize("name", OPERATIONS)
def test_mirrored_tables_are_written_with_djangos_own_statements(name: str) -> None:
    mirrored = list_statements(OPERATIONS[name])
    registry._mirrors.clear()
    signals.connect()
    assert mirrored == list_statements(OPERATIONS[name])
