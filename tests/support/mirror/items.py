"""Items with labels, and everything pending on its way: for tests of single rows."""

from typing import Any

from mirror import relay
from mirror.models import Change
from tests.support.mirror.app.models import Item, Label


def make(name: str, *labels: str, **values: Any) -> Item:
    """A new item with these labels."""
    item = Item.objects.create(name=name, **values)
    item.labels.set([Label.objects.get_or_create(name=label)[0] for label in labels])
    return item


def drained() -> None:
    """Everything pending arrives."""
    relay.drain_all()
    assert not Change.objects.pending().exists()
