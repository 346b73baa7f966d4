"""The SQL side of a fan-out: which pushed changes are pending, and how far each has got."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Exists, Q, QuerySet, TextField
from django.db.models.functions import Cast, Now

from mirror import registry
from mirror.conf import setting
from mirror.models import Change, Identity


def is_pushed() -> Q:
    """Changes whose rows are pushed into windows."""
    pairs = [Q(mirror=mirror, source=source) for mirror, source in registry.pushed()]
    return Q(*pairs, _connector=Q.OR) if pairs else Q(pk__in=[])


def pending(mirror: str, source: str, keys: Sequence[str] = ()) -> QuerySet[Change]:
    """Pending changes of pushed rows, oldest first: of these rows, or of all."""
    if keys:
        return _changes().pending().filter(mirror=mirror, source=source, key__in=keys).order_by("id")
    # By the index of what is pending, in its order: SQLite would take the one of mirrors and keys, and sort all of them
    # for the first hundred (0.1 s of 60,000, 600 times).
    found = _changes().pending().annotate(_mirror=Cast("mirror", TextField()))
    return found.filter(_mirror=mirror, source=source).in_order()


def note(ids: Sequence[int], before: str | None, end: str | None, incarnation: str) -> bool:
    """Note that these changes have got from ``before`` to ``end`` (None: they are applied) in that life of Redis.

    False: somebody else has noted something, or Redis has begun another life; the changes stay as they are.
    """
    progress: dict[str, Any] = {"incarnation": incarnation, "cursor": end}
    if end is None:
        progress = {"incarnation": incarnation, "applied_at": Now(), "quarantined_at": None}
    # Whoever begins a replay writes the new life down first, and then looks for what was applied in another.
    same_life = Exists(Identity.objects.using(setting("DATABASE")).exclude(incarnation__in=["", incarnation]))
    ours = _changes().filter(~same_life, id__in=list(ids), cursor=before, applied_at__isnull=True)
    return ours.update(**progress) == len(ids)  # (Django reads "cursor=None" as IS NULL)


def in_another_life(mirror: str, source: str) -> QuerySet[Change]:
    """Pending changes that were applied or begun, as long as none can be begun: those that are to be replayed."""
    return pending(mirror, source).exclude(incarnation="")


def is_spread(mirror: str, source: str, key: str) -> bool:
    """Whether no change of that source's row is still to be spread."""
    return not _changes().filter(mirror=mirror, source=source, key=key, applied_at__isnull=True).exists()


def newest() -> int:
    """The highest id of a change; 0 if there is none."""
    return int(_changes().order_by("-id").values_list("id", flat=True).first() or 0)


def are_applied(mirror: str, last: int) -> bool:
    """Whether all changes of this mirror's rows up to that id are applied. One that was set aside is not."""
    return not _changes().filter(mirror=mirror, source="", id__lte=last, applied_at__isnull=True).exists()


def _changes() -> Any:
    return Change.objects.using(setting("DATABASE"))
