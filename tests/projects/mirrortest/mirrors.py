"""A mirror of every kind."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models import Q

from mirror import (
    Column,
    Count,
    EdgeMirror,
    Entry,
    Family,
    Lookup,
    Member,
    Mirror,
    Names,
    Ranking,
    SetOf,
    SummaryMirror,
    Watch,
    register,
)
from mirror.declare.mirrors import Record
from tests.projects.mirrortest import windows  # noqa: F401  (registers its mirrors)
from tests.projects.mirrortest.models import Follow, Group, Item, Odd


@register
class ItemMirror(Mirror):
    """``titem:<id>``: JSON; members of ``{tlabel}:<label>``; scores in ``titems:score``; ids by name."""

    name = "titem"
    model = Item
    key = "titem:{pk}"
    fields = ["id", "name", "score", Column("group__name", name="group"), Names("labels")]
    indexes = [
        Ranking("titems:score", score="score"),
        Lookup("titem:name:{value}", on="name"),
        SetOf("{{tlabel}}:{value}", over="labels"),
    ]
    where = Q(hidden=False)


@register
class GroupHash(Mirror):
    """``tgroup:<id>``: a hash with the group's name and its number of items."""

    name = "tgroup"
    model = Group
    key = "tgroup:{pk}"
    record_kind = "hash"
    fields = ["name", Count("items", name="items")]


@register
class FollowEdge(EdgeMirror):
    """``tuid:{a}:following`` has b, and ``tuid:{b}:followers`` has a."""

    name = "tfollow"
    model = Follow
    watches = [Watch(Follow, ("follower", "followed"))]

    def load(self, pks: Sequence[str]) -> Mapping[str, Any]:
        if not pks:
            return {}
        wanted, followers = set(pks), {pk.partition(":")[0] for pk in pks}
        found = Follow.objects.filter(follower__in=followers).values_list("follower", "followed")
        return {edge: True for a, b in found if (edge := f"{a}:{b}") in wanted}

    def entries(self, pk: str) -> Iterable[Entry]:
        follower, followed = pk.split(":")
        yield Member(f"tuid:{{{follower}}}:following", followed)
        yield Member(f"tuid:{{{followed}}}:followers", follower)

    def families(self) -> Sequence[Family]:
        return [Family("tuid:{", "set", _edge)]


def _edge(name: str, member: str) -> str:
    """Return the key of the follow that contributed ``member`` to the set called ``name``."""
    person = name[name.index("{") + 1 : name.index("}")]
    return f"{person}:{member}" if name.endswith(":following") else f"{member}:{person}"


@register
class LatestItems(SummaryMirror):
    """``titems:latest``: the ids of the ten newest items, newest first."""

    name = "latest"
    model = Item
    watches = [Watch(Item)]

    def record_key(self, pk: str) -> str:
        return "titems:latest"

    def items(self) -> list[str]:
        return [str(pk) for pk in Item.objects.order_by("-pk").values_list("pk", flat=True)[:10]]


@register
class OddMirror(Mirror):
    """``todd:<code>``: exists if a row has this code."""

    name = "t'odd"
    model = Odd
    watches = [Watch(Odd, "c'ödé; --")]

    def record_key(self, pk: str) -> str:
        return f"todd:{pk}"

    def load(self, pks: Sequence[str]) -> Mapping[str, Odd]:
        return {str(odd.code): odd for odd in Odd.objects.filter(code__in=pks)}

    def record(self, row: Odd) -> Record:
        return {"code": row.code}

    def keys_after(self, after: str | None, limit: int) -> list[str]:
        codes = Odd.objects.exclude(code=None).order_by("code").distinct()
        if after is not None:
            codes = codes.filter(code__gt=after)
        return [str(code) for code in codes.values_list("code", flat=True)[:limit]]

    def pk_of(self, key: str) -> str | None:
        start = self.record_key("")
        return key.removeprefix(start) if key.startswith(start) else None
