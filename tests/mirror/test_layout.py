"""From a declaration of fields follow watches, records, entries and key families; mistakes in it are reported."""

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import pytest
from django.db import models
from django.db.models import F, Q
from django.test.utils import isolate_apps
from pytest_django.fixtures import Settings
from redis import Redis

from mirror import (
    Alphabetical,
    Column,
    Count,
    Ids,
    Lookup,
    Mirror,
    Names,
    Ranking,
    Scored,
    SetOf,
    Sum,
    Values,
    Watch,
    register,
    registry,
)
from mirror.capture import install
from mirror.checks import check_declarations
from mirror.declare.layout import Layout
from mirror.declare.paths import DeclarationError
from tests.projects.mirrortest.models import Group, Item, Kinds, Label, Note, Writer
from tests.support.mirror.items import drained, make
from tests.support.mirror.outbox import changes

pytestmark = pytest.mark.usefixtures("own_registry")
Declare = Callable[..., Mirror]


@pytest.fixture
def declare() -> Declare:
    """Return a function that registers a mirror with these attributes, without the test application's mirrors."""

    def declare(model: type[models.Model] = Item, **attributes: Any) -> Mirror:
        registry._mirrors.clear()
        register(type("OddItemMirror", (Mirror,), {"model": model, "key": "t:{pk}", **attributes}))
        [mirror] = registry.all_mirrors()
        return mirror

    return declare


def read_records(mirror: Mirror, pks: Sequence[object]) -> dict[str, Any]:
    return {pk: mirror.record(row) for pk, row in mirror.load([str(pk) for pk in pks]).items()}


@pytest.mark.django_db
def test_record_contains_columns_lists_counts_and_sums(declare: Declare) -> None:
    one, two = Group.objects.create(name="one"), Group.objects.create(name="two")
    make("a", "red", "round", group=one, score=2)
    make("b", "red", group=one, score=5)
    make("c", group=one, score=100, hidden=True)
    mirror = declare(
        Group,
        fields=[
            "name",
            Names("items"),
            Ids("items", name="ids"),
            Values("items", "score", name="scores"),
            Count("items", where=Q(hidden=False)),
            Sum("items", "score", where=Q(hidden=False)),
        ],
    )
    ids = list(one.items.order_by("pk").values_list("pk", flat=True))
    assert read_records(mirror, [one.pk, two.pk]) == {
        str(one.pk): {
            "name": "one", "items": ["a", "b", "c"], "ids": ids, "scores": [2, 5, 100],
            "items_count": 2, "items_score_sum": 7,
        },
        str(two.pk): {"name": "two", "items": [], "ids": [], "scores": [], "items_count": 0, "items_score_sum": 0},
    }  # fmt: skip


@pytest.mark.django_db
def test_many_to_many_relation_is_followed_in_both_directions(declare: Declare) -> None:
    item = make("a", "red", "round")
    make("b", "red", hidden=True)
    label = Label.objects.get(name="red")
    shown = Q(hidden=False)
    mirror = declare(Label, fields=[Names("items", where=shown), Count("items"), Sum("items", "score", where=shown)])
    assert read_records(mirror, [label.pk]) == {
        str(label.pk): {"items": ["a"], "items_count": 2, "items_score_sum": item.score}
    }


@pytest.mark.django_db
def test_condition_and_unknown_keys_leave_rows_out(declare: Declare) -> None:
    item, hidden = make("a"), make("b", hidden=True)
    mirror = declare(fields=["name"], where=Q(hidden=False))
    assert read_records(mirror, [item.pk, hidden.pk, 10**6]) == {str(item.pk): {"name": "a"}}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("fields", "where", "write", "is_change"),
    [
        (["name"], None, lambda item: item.objects.update(name="new"), True),
        (["name"], None, lambda item: item.objects.update(score=7), False),
        (["name"], Q(hidden=False), lambda item: item.objects.update(hidden=True), True),
        (["group__name"], None, lambda item: Group.objects.update(name="new"), True),
        (["group_id"], None, lambda item: Group.objects.update(name="new"), False),
        ([Names("labels")], None, lambda item: Label.objects.update(name="new"), True),
        ([Ids("labels")], None, lambda item: Label.objects.update(name="new"), False),
        ([Count("labels")], None, lambda item: item.labels.through.objects.all().delete(), True),
        ([Count("labels")], None, lambda item: Label.objects.create(name="another"), False),
        ([Count("labels", where=Q(name="red"))], None, lambda item: Label.objects.update(name="new"), True),
    ],
)
def test_only_writes_to_the_named_columns_are_changes(
    declare: Declare,
    fields: list[Any],
    where: Q | None,
    write: Callable[[Any], object],
    is_change: bool,
) -> None:
    declare(fields=fields, where=where)
    install.install()  # first: PostgreSQL alters no table while deferred constraints wait for its new rows
    make("a", "red", group=Group.objects.create(name="one"))
    changes()
    write(Item)
    assert bool(changes()) is is_change


@pytest.mark.django_db
def test_relation_behind_a_relation_is_watched(declare: Declare) -> None:
    note = Note.objects.create(writer=Writer.objects.create(name="Ann"), topic="x")
    mirror = declare(Note, fields=["writer__name"])
    watch = next(watch for watch in mirror.watches if watch.model is Writer)
    assert watch.via is not None
    assert watch.via([str(note.writer_id)], None, 10) == [str(note.pk)]
    assert watch.via([str(note.writer_id)], str(note.pk), 10) == []
    assert (watch.only, watch.inserts) == (("name",), False)


def test_entries_families_and_owners_are_derived(declare: Declare) -> None:
    mirror = declare(
        fields=["name", "score", "group_id", Names("labels")],
        indexes=[
            SetOf("all", when="score"),
            SetOf("{{label}}:{value}:items", over="labels"),
            Ranking("group:{value}:scores", over="group_id", score="score"),
            Alphabetical("names", by="name"),
            Lookup("name:{value}", on="name"),
            SetOf("{name}/{score}/{pk}"),
        ],
    )
    record = {"name": "a", "score": 2, "group_id": 5, "labels": ["red", "round", "red"]}
    assert list(mirror.index("7", record)) == [
        ("all", "7"),
        (["{label}:red:items", "{label}:round:items"], "7"),
        ("group:5:scores", "7", 2.0),
        ("names", "a\x007", 0),
        ("name:a", "7"),
        ("a/2/7", "7"),
    ]
    assert list(mirror.index("7", {**record, "score": 0, "group_id": None, "labels": [], "name": ""})) == [
        ("names", "\x007", 0),
        ("/0/7", "7"),
    ]
    assert [(family.start, family.end, family.kind, family.whole) for family in mirror.families()] == [
        ("all", "", "set", True),
        ("{label}:", ":items", "set", False),
        ("group:", ":scores", "zset", False),
        ("names", "", "zset", True),
        ("name:", "", "string", False),
        ("", "", "set", False),
    ]
    assert mirror.families()[3].owner("names", "a\x007") == "7"


def test_times_and_decimals_become_scores() -> None:
    index = Ranking("r", score="s").compile()
    scores = [
        ("2026-11-23T00:00:00+00:00", 1795392000.0),
        ("2026-11-23", 1795392000.0),
        ("12.50", 12.5),
        (True, 1.0),
        (3, 3.0),
    ]
    assert [[entry[-1] for entry in index("1", {"s": value})] for value, _ in scores] == [[s] for _, s in scores]
    assert list(index("1", {"s": None})) == []
    assert [repr(entry[-1]) for value in (True, 3, 3.0) for entry in index("1", {"s": value})] == ["1", "3", "3.0"]


@pytest.mark.django_db
def test_hash_has_text_only(declare: Declare) -> None:
    item = make("a", hidden=True)
    mirror = declare(fields=["name", "score", "hidden", "group_id"], record_kind="hash")
    assert read_records(mirror, [item.pk]) == {str(item.pk): {"name": "a", "score": "0", "hidden": "1", "group_id": ""}}


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"fields": "name"}, "fields must be a list"),
        ({"fields": ["name"], "indexes": SetOf("s")}, "indexes must be a list"),
        ({"fields": ["nam"]}, "has no field 'nam'; did you mean 'name'?"),
        ({"fields": ["xyz"]}, "it has: group, hidden, id, labels, name, score"),
        ({"fields": ["labels"]}, "leads to many rows; use Names, Ids, Values, Count or Sum"),
        ({"fields": ["group__titles"]}, "mirrortest.Group has no field 'titles'"),
        ({"fields": ["name__lower"]}, "'name' has no 'lower'"),
        ({"fields": [Names("group")]}, "does not lead to many rows; name the column"),
        ({"fields": [Names("labels", "nam")]}, "did you mean 'name'?"),
        ({"fields": [Values("labels", "items")]}, "leads to many rows"),
        ({"fields": [Sum("labels", "name")]}, "is no number"),
        ({"fields": ["name", Column("score", name="name")]}, "two fields are called 'name'"),
        ({"fields": [Names("labels")], "record_kind": "hash"}, "a hash cannot contain the list 'labels'"),
        ({"fields": ["name"], "where": Q(labels=1)}, "leads to many rows"),
        ({"fields": ["name"], "where": Q(score=F("id") + 1)}, "can tell when an expression changes"),
        ({"fields": ["name"], "where": Q(Q(Q(models.Exists(Item.objects.all()))))}, "cannot be watched"),
        ({"fields": ["name"], "indexes": [SetOf("s:{value}")]}, "needs over="),
        ({"fields": ["name"], "indexes": [SetOf("s", over="name")]}, "all values of 'name' would share it"),
        ({"fields": ["name"], "indexes": [SetOf("s:{value}", over="score")]}, "needs the field 'score'"),
        ({"fields": ["name"], "indexes": [Ranking("r", score="name")]}, "is neither a number nor a date"),
        ({"fields": ["id"], "indexes": [SetOf("s"), Ranking("s", score="id")]}, "give each a key of its own"),
        ({"fields": ["name"], "indexes": [Ranking("r")]}, "needs score="),
        ({"fields": ["name"], "indexes": [Alphabetical("r")]}, "needs by="),
        ({"fields": ["name"], "indexes": [SetOf("{tag")]}, "is no template"),
        ({"fields": ["name"], "indexes": [SetOf("{}")]}, "has a placeholder without a name"),
        ({"fields": ["name"], "indexes": ["name"]}, "which is no index"),
        ({"fields": ["name"], "indexes": [SetOf("s", when=Q(id=1))]}, "member='{pk}'): when= must be the name"),  # type: ignore[arg-type]
        ({"fields": ["name"], "indexes": [SetOf("s", sql="x")]}, "member='{pk}'): sql= must be a function"),  # type: ignore[arg-type]
        ({"fields": ["name"], "indexes": [SetOf("s", buckets="4")]}, "member='{pk}'): buckets= must be an integer"),  # type: ignore[arg-type]
        ({"fields": ["name"], "indexes": [SetOf(["s"])]}, "member='{pk}'): key= must be text"),  # type: ignore[arg-type]
        ({"fields": ["name"], "indexes": [Alphabetical("r", by=1)]}, "by=1): by= must be text"),  # type: ignore[arg-type]
        ({"fields": ["name"], "indexes": [SetOf("s", member="{name}")]}, 'member= needs "{pk}"'),
        ({"fields": ["name"], "indexes": [SetOf("s", member="{nam}\0{pk}")]}, "needs the field 'nam'"),
        ({"fields": ["name"], "indexes": [SetOf("{pk:03}")]}, "formats a value"),
        ({"fields": ["name"], "indexes": [SetOf("s", when="name")], "record_kind": "hash"}, "use a function as when="),
        ({"fields": ["name"], "where": Q(name__in={"a", "b"})}, "is a set, whose order differs"),
        ({"fields": ["name"], "where": {"name": "a"}}, "where is {'name': 'a'}; write Q(field=value)"),
        ({"fields": ["name"], "where": Q(score="many")}, "is no condition: Field 'score' expected a number"),
        ({"fields": ["name"], "where": Q(score__near=1)}, "is no condition: Unsupported lookup 'near'"),
        ({"fields": [Names("labels", where="red")]}, "where is 'red'; write Q(field=value)"),  # type: ignore[arg-type]
        ({"fields": [Count("labels", where=Q(name__near=1))]}, "is no condition: Unsupported lookup 'near'"),
        ({"fields": [Count]}, "a field is a name, or made by Column, Names"),
        ({"fields": [Column(3)]}, "Column(path=3, name=''): path is 3, and has to be text"),  # type: ignore[arg-type]
        ({"fields": [Column("name", name=3)]}, "name is 3, and has to be text"),  # type: ignore[arg-type]
        ({"fields": [Names(Label)]}, "and has to be text"),  # type: ignore[arg-type]
        (
            {"fields": ["id", "score"], "indexes": [Ranking("r", score="id"), Ranking("r", score="score")]},
            "has the key",
        ),
    ],
)
def test_mistakes_are_system_checks_that_name_the_place(attributes: dict[str, Any], message: str) -> None:
    register(type("BadMirror", (Mirror,), {"model": Item, "key": "bad:{pk}", "__module__": "shop", **attributes}))
    [error] = check_declarations()
    assert error.id == "mirror.E001"
    assert error.msg.startswith("shop.BadMirror is wrong: ")
    assert message in error.msg


def test_missing_key_is_reported(declare: Declare) -> None:
    declare(fields=["name"], key="")
    assert [error.msg for error in check_declarations()] == ["Mirror 'odd_item' does not define key."]


def make_model(name: str, base: type[models.Model] = models.Model, /, **fields: Any) -> type[models.Model]:
    meta = type("Meta", (), {"app_label": "mirrortest"})
    return type(name, (base,), {"__module__": __name__, "Meta": meta, **fields})


def derive(model: type[models.Model], *fields: Any) -> Layout:
    return Layout(type("Tested", (Mirror,), {"model": model, "fields": fields}))


@isolate_apps("tests.projects.mirrortest")
def test_binary_columns_and_keys_other_than_the_primary_one_are_refused() -> None:
    target = make_model("Target", code=models.CharField(max_length=5, unique=True))
    link = models.ForeignKey(target, models.CASCADE, to_field="code", related_name="pointing")
    pointing = make_model("Pointing", target=link, body=models.BinaryField())
    with pytest.raises(DeclarationError, match="does not point at a primary key"):
        derive(target, Count("pointing"))
    with pytest.raises(DeclarationError, match="'body' is binary"):
        derive(pointing, "body")


@isolate_apps("tests.projects.mirrortest")
def test_reverse_relation_behind_a_foreign_key_is_refused_with_the_models_to_mirror() -> None:
    person = make_model("Person", name=models.CharField(max_length=5))
    make_model("Doctor", person=models.OneToOneField(person, models.CASCADE), licence=models.CharField(max_length=5))
    visit = make_model("Visit", patient=models.ForeignKey(person, models.CASCADE))
    with pytest.raises(DeclarationError, match=r"only come first in a path; mirror mirrortest.Person as well, or"):
        derive(visit, "patient__doctor__licence")


@isolate_apps("tests.projects.mirrortest")
def test_tables_without_constraint_are_watched_for_insertions() -> None:
    shelf = make_model("Shelf", name=models.CharField(max_length=5))
    book = make_model("Book", shelf=models.ForeignKey(shelf, models.DO_NOTHING, db_constraint=False))
    watches = derive(book, "shelf__name").watches
    assert [(watch.model, watch.inserts) for watch in watches] == [(book, True), (shelf, True)]


@isolate_apps("tests.projects.mirrortest")
def test_inherited_columns_and_one_to_one_relations_are_watched_in_their_tables() -> None:
    place = make_model("Place", name=models.CharField(max_length=5))
    shop = make_model("Shop", place, rent=models.IntegerField())
    link = models.OneToOneField(shop, models.CASCADE)
    owner = make_model("Owner", shop=link, name=models.CharField(max_length=5))
    watches = derive(shop, "name", "rent", "owner__name").watches
    assert {(watch.model, watch.key_columns, watch.only) for watch in watches} == {
        (shop, ("place_ptr_id",), ("rent",)),
        (place, ("id",), ("name",)),
        (owner, ("shop_id",), ("shop_id", "name")),
    }


def test_version_changes_with_fields_types_indexes_and_condition(declare: Declare) -> None:
    versions = {
        declare(**attributes).version
        for attributes in (
            {"fields": ["name"]},
            {"fields": ["name", "score"]},
            {"fields": ["name"], "where": Q(hidden=False)},
            {"fields": ["name"], "indexes": [Lookup("n:{value}", on="name")]},
            {"fields": ["name"], "version": 2},
            {"fields": ["name"], "record_kind": "hash"},
            {"fields": ["name"], "key": "other:{pk}"},
        )
    }
    assert len(versions) == 7
    assert declare(fields=["name"]).version in versions


def test_version_of_times_changes_with_the_time_zone_of_naive_ones(declare: Declare, settings: Settings) -> None:
    versions: dict[tuple[str, ...], list[int | str]] = {("moment",): [], ("text",): []}
    for uses_zones, zone in ((True, "UTC"), (True, "Europe/Berlin"), (False, "UTC"), (False, "Europe/Berlin")):
        settings.USE_TZ, settings.TIME_ZONE = uses_zones, zone
        for fields, found in versions.items():
            found.append(declare(Kinds, fields=list(fields)).version)
    aware, elsewhere, naive, naive_elsewhere = versions["moment",]
    assert aware == elsewhere
    assert len({aware, naive, naive_elsewhere}) == 3
    assert len(set(versions["text",])) == 1


def test_version_names_functions_and_not_their_addresses(declare: Declare) -> None:
    def is_odd(record: Any) -> bool:
        return bool(record["score"] % 2)

    first = declare(fields=["score"], indexes=[SetOf("s", when=is_odd)]).version
    again = FunctionType(is_odd.__code__, {})
    again.__qualname__ = is_odd.__qualname__
    assert repr(again) != repr(is_odd)
    assert declare(fields=["score"], indexes=[SetOf("s", when=again)]).version == first
    assert declare(fields=["score"], indexes=[SetOf("s", when=lambda record: True)]).version != first


def test_members_contain_fields_and_scores_may_be_constant(declare: Declare) -> None:
    mirror = declare(fields=["name"], indexes=[SetOf("names", member="{name}\0{pk}"), Ranking("all", score=0)])
    assert list(mirror.index("7", {"name": "a\x00b"})) == [("names", "a\x00b\x007"), ("all", "7", 0)]
    names, ranking = mirror.families()
    assert (names.owner("names", "a\x00b\x007"), ranking.owner("all", "7")) == ("7", "7")
    assert names.owner("names", "no member") == "no member"


@pytest.mark.django_db
def test_impossible_keys_are_left_out(declare: Declare) -> None:
    item = make("a")
    wrong = ["", "x", "1.5", "-1", str(2**70), f"0{item.pk}", "\u0661"]
    assert read_records(declare(fields=["name"]), [*wrong, item.pk]) == {str(item.pk): {"name": "a"}}


def test_name_is_the_class_in_snake_case(declare: Declare) -> None:
    assert declare(fields=["name"]).name == "odd_item"
    register(type("HTTPPageMirror", (Mirror,), {"model": Item, "key": "p:{pk}", "fields": ["name"]}))
    assert registry.is_known("http_page")


def test_written_watches_are_added_to_derived_ones(declare: Declare) -> None:
    mirror = declare(fields=["name"], watches=[Watch(Group, "id")])
    assert [watch.model for watch in mirror.watches] == [Item, Group]


@pytest.mark.usefixtures("committed")
def test_record_and_entries_reach_redis(redis: Redis, declare: Declare) -> None:
    declare(
        fields=["name", Names("labels")],
        indexes=[SetOf("{{t}}:{value}", over="labels"), Lookup("tname:{value}", on="name")],
    )
    install.install()
    item = make("a", "red")
    Label.objects.update(name="blue")
    drained()
    assert redis.get(f"t:{item.pk}") == b'{"labels":["blue"],"name":"a"}'
    assert (redis.smembers("{t}:blue"), redis.get("tname:a")) == ({str(item.pk).encode()}, str(item.pk).encode())
    item.delete()
    drained()
    assert not redis.exists(f"t:{item.pk}", "{t}:blue", "{t}:red", "tname:a")


@pytest.mark.usefixtures("committed")
def test_field_with_the_name_of_a_placeholder_moves_its_members(redis: Redis, declare: Declare) -> None:
    declare(fields=[Column("name", name="value")], indexes=[SetOf("t:s:{value}", over="value")])
    install.install()
    item = make("a")
    drained()
    Item.objects.update(name="b")
    drained()
    assert (redis.smembers("t:s:a"), redis.smembers("t:s:b")) == (set(), {str(item.pk).encode()})


@pytest.mark.usefixtures("committed")
def test_unchanged_index_keeps_a_member_that_another_index_gave_up(redis: Redis, declare: Declare) -> None:
    declare(fields=["name", "score"], indexes=[SetOf("t:s:{value}", over=name) for name in ("name", "score")])
    install.install()
    item = make("7", score=7)
    drained()
    item.name = "eight"
    item.save()
    drained()
    member = str(item.pk).encode()
    assert (redis.smembers("t:s:7"), redis.smembers("t:s:eight")) == ({member}, {member})


@pytest.mark.only_on("sqlite")
def test_only_indexes_of_changed_fields_are_compared(declare: Declare) -> None:
    ranking = Ranking("t:score", score="score")
    mirror = declare(fields=["name", "score"], indexes=[ranking, Lookup("t:name:{value}", on="name")])
    assert mirror.layout
    before, after = {"name": "a name", "score": 1}, {"name": "a name", "score": 2}
    assert mirror.layout.list_changes("5", before, after) == ([Scored("t:score", "5", 1)], [Scored("t:score", "5", 2)])
    assert mirror.layout.list_changes("5", before, dict(before)) == ([], [])
