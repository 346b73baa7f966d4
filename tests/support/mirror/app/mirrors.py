"""A mirror of every kind."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from mirror import EdgeMirror, Entry, Family, Member, Mirror, Scored, SummaryMirror, Value, Watch, register
from mirror.declare import Record
from mirror.naming import key
from tests.support.mirror.app import windows  # noqa: F401  (registers its mirrors)
from tests.support.mirror.app.models import Follow, Group, Item, Label, Odd

Via = Callable[[Sequence[str], str | None, int], list[str]]


def _items_with(field: str) -> Via:
    """Return a function for ``Watch.via`` that finds items by the values of ``field``."""

    def via(values: Sequence[str], after: str | None, limit: int) -> list[str]:
        items = Item.objects.filter(**{f"{field}__in": values})
        if after is not None:
            items = items.filter(pk__gt=after)
        return [str(pk) for pk in items.order_by("pk").distinct().values_list("pk", flat=True)[:limit]]

    return via


@register
class ItemMirror(Mirror):
    """``titem:<id>``: JSON; members of ``{tlabel}:<label>``; scores in ``titems:score``; ids by name."""

    name = "titem"
    model = Item
    watches = [
        Watch(Item),
        Watch(Item.labels.through, "item_id"),
        Watch(Label, "id", via=_items_with("labels")),
        Watch(Group, "id", via=_items_with("group")),
    ]

    def key(self, pk: str) -> str:
        return key(f"titem:{pk}")

    def load(self, pks: Sequence[str]) -> Mapping[str, Item]:
        items = Item.objects.filter(pk__in=pks, hidden=False)
        return {str(i.pk): i for i in items.select_related("group").prefetch_related("labels")}

    def record(self, row: Item) -> Record:
        return {
            "id": row.pk,
            "name": row.name,
            "score": row.score,
            "group": row.group.name if row.group else None,
            "labels": sorted(label.name for label in row.labels.all()),
        }

    def index(self, record: Record) -> Iterable[Entry]:
        pk = str(record["id"])
        yield Scored(key("titems:score"), pk, record["score"])
        yield Value(key(f"titem:name:{record['name']}"), pk)
        for label in record["labels"]:
            yield Member(key("{tlabel}:" + label), pk)

    def families(self) -> Sequence[Family]:
        return [
            Family(key("titems:score"), "zset", lambda _, member: member, whole=True),
            Family(key("titem:name:"), "string", lambda _, value: value),
            Family(key("{tlabel}:"), "set", lambda _, member: member),
        ]


@register
class GroupHash(Mirror):
    """``tgroup:<id>``: a hash with the group's name and its number of items."""

    name = "tgroup"
    model = Group
    record_kind = "hash"
    watches = [Watch(Group), Watch(Item, "group_id")]

    def key(self, pk: str) -> str:
        return key(f"tgroup:{pk}")

    def load(self, pks: Sequence[str]) -> Mapping[str, Group]:
        return {str(group.pk): group for group in Group.objects.filter(pk__in=pks).prefetch_related("items")}

    def record(self, row: Group) -> Record:
        return {"name": row.name, "items": str(len(row.items.all()))}


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
        yield Member(key(f"tuid:{{{follower}}}:following"), followed)
        yield Member(key(f"tuid:{{{followed}}}:followers"), follower)

    def families(self) -> Sequence[Family]:
        return [Family(key("tuid:{"), "set", _edge)]


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

    def key(self, pk: str) -> str:
        return key("titems:latest")

    def items(self) -> list[str]:
        return [str(pk) for pk in Item.objects.order_by("-pk").values_list("pk", flat=True)[:10]]


@register
class OddMirror(Mirror):
    """``todd:<code>``: exists if a row has this code."""

    name = "t'odd"
    model = Odd
    watches = [Watch(Odd, "c'ödé; --")]

    def key(self, pk: str) -> str:
        return key(f"todd:{pk}")

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
        start = self.key("")
        return key.removeprefix(start) if key.startswith(start) else None
