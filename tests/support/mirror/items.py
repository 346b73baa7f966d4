"""Create and drain items with labels, for tests of single rows."""

from typing import Any

from mirror.models import Change
from mirror.relay import drains
from tests.projects.mirrortest.models import Item, Label


def make(name: str, *labels: str, **values: Any) -> Item:
    """Create an item with these labels."""
    item = Item.objects.create(name=name, **values)
    item.labels.set([Label.objects.get_or_create(name=label)[0] for label in labels])
    return item


def drained() -> None:
    """Drain until no change is pending."""
    drains.drain_all()
    assert not Change.objects.pending().exists()
