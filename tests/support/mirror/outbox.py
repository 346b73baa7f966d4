"""What the tests of capture have in common: the outbox as plain data, and how to write behind Django's back."""

from django.db import connection

from mirror.models import Change
from tests.support.mirror.app.models import Item

Line = tuple[str, str, str]


def changes() -> list[Line]:
    """Mirror, source and key of every change, sorted; asking empties the outbox."""
    lines = sorted(Change.objects.values_list("mirror", "source", "key"))
    Change.objects.all()._raw_delete(Change.objects.db)
    return lines


def of_items(*items: Item) -> list[Line]:
    """What one change of each of these items says, but for their groups."""
    return sorted([(name, "", str(item.pk)) for item in items for name in ("latest", "titem")])


def orders() -> list[str]:
    """The mirrors that are ordered to be rebuilt, in the order of the changes that say so."""
    return list(Change.objects.filter(source="", key="*").order_by("id").values_list("mirror", flat=True))


def run(*statements: str) -> None:
    """Execute SQL."""
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
