"""Kinds of values: Redis and SQL answer equally for each, or a check refuses the declaration."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from django.db import connection, models
from django.utils.translation import gettext_lazy

from mirror import (
    Alphabetical,
    Column,
    Count,
    Ids,
    Lookup,
    Mirror,
    Names,
    Ranking,
    SetOf,
    Sum,
    Values,
    register,
    registry,
)
from mirror.checks import check_declarations
from mirror.checks.database import check_queries
from mirror.declare.indexes import write_text
from mirror.models import Change
from mirror.redis.clients import relay_client
from mirror.relay import drains
from mirror.relay.sql_only import sql_only
from mirror.utils import json_texts
from mirror.verify import runs
from tests.mirror.schemas import Create, Declare, Sample, assert_equal, refuse
from tests.support.mirror.outbox import run

pytestmark = [
    pytest.mark.usefixtures("own_registry", "committed", "no_hints", "isolated"),
    pytest.mark.also_on("sqlite"),
]


class Color(str, Enum):  # noqa: UP042  # whose text is "Color.RED"
    RED = "red"
    BLUE = "blue"


class ColorField(models.CharField):
    """A column whose values are members of an enum."""

    def from_db_value(self, value: str | None, expression: object, connection: object) -> Color | None:
        return None if value is None else Color(value)

    def to_python(self, value: Any) -> Any:
        return value if value is None else Color(value)

    def get_prep_value(self, value: Any) -> Any:
        return value.value if isinstance(value, Color) else value


class LowerField(models.CharField):
    """A column that keeps small letters."""

    def get_prep_value(self, value: Any) -> Any:
        return value.lower() if isinstance(value, str) else value


class WordsField(models.TextField):
    """A list of words in one column."""

    def from_db_value(self, value: str, expression: object, connection: object) -> list[str]:
        return value.split(",")

    def to_python(self, value: Any) -> Any:
        return value.split(",") if isinstance(value, str) else value

    def get_prep_value(self, value: Any) -> Any:
        return ",".join(value) if isinstance(value, list) else value


class CodeField(models.CharField):
    """A column whose values have a prefix in Python."""

    def from_db_value(self, value: str, expression: object, connection: object) -> str:
        return f"code-{value}"


class PriceField(models.DecimalField):
    """An amount of money, as django-money has it: it takes prices, and SQL has their amounts."""

    def to_python(self, value: Any) -> Any:
        return super().to_python(getattr(value, "amount", value))

    def value_to_string(self, obj: models.Model) -> str:
        return str(self.value_from_object(obj))


class CentsField(models.IntegerField):
    """A price that SQL has in cents."""

    def from_db_value(self, value: int | None, expression: object, connection: object) -> float | None:
        return None if value is None else value / 100


def ask(mirror: type[Mirror], key: str) -> set[Any]:
    """Return the members at a key, which Redis and SQL name equally."""
    found = mirror.members(key)
    with sql_only():
        assert mirror.members(key) == found
    return found


def test_infinite_numbers_are_texts(tables: Create, declare: Declare) -> None:
    class Gauge(Sample):
        level = models.FloatField()

    tables(Gauge)
    high, low, plain = (Gauge._base_manager.create(level=level) for level in (float("inf"), float("-inf"), 1.5))
    indexes = [Ranking("tkinds_ranked", score="level"), SetOf("tkinds:{value}", over="level")]
    mirror = declare(Gauge, fields=["level"], indexes=indexes)
    assert [record["level"] for record in assert_equal(mirror).values()] == ["inf", "-inf", 1.5]
    assert mirror.top("tkinds_ranked", 5) == [high.pk, plain.pk, low.pk]
    assert ask(mirror, "tkinds:inf") == {high.pk}
    Gauge._base_manager.filter(pk=high.pk).update(level=0)
    assert_equal(mirror)
    assert mirror.top("tkinds_ranked", 5) == [plain.pk, high.pk, low.pk]
    assert ask(mirror, "tkinds:inf") == set()


@pytest.mark.only_on("postgres")  # SQLite stores NULL in place of NaN
def test_row_without_a_possible_score_is_read_from_sql(tables: Create, declare: Declare) -> None:
    class Gauge(Sample):
        level = models.FloatField()

    tables(Gauge)
    plain = Gauge._base_manager.create(level=1.5)
    mirror = declare(Gauge, fields=["level"], indexes=[Ranking("tkinds_ranked", score="level")])
    odd = Gauge._base_manager.create(level=float("nan"))
    while Change.objects.pending().exists():
        drains.drain_all()
    assert [change.key for change in Change.objects.quarantined()] == [str(odd.pk)]
    with sql_only():
        assert mirror.get_many([plain.pk, odd.pk]) == {plain.pk: {"level": 1.5}, odd.pk: {"level": "nan"}}


def test_members_of_an_enum_are_their_values(tables: Create, declare: Declare) -> None:
    class Paint(Sample):
        color = ColorField(max_length=9, null=True)

    tables(Paint)
    row = Paint._base_manager.create(color=Color.RED)
    mirror = declare(Paint, fields=["color"])
    assert mirror.get(row.pk) == {"color": "red"}
    Paint._base_manager.update(color=Color.BLUE)
    assert assert_equal(mirror) == {str(row.pk): {"color": "blue"}}


@pytest.mark.parametrize("kind", [ColorField, LowerField, WordsField, CodeField])
def test_values_that_python_converts_are_refused_where_sql_looks_them_up(kind: Any) -> None:
    class Poster(Sample):
        text = kind(max_length=9)
        number = models.IntegerField()

    indexes = [
        SetOf("tkinds:{value}", over="text"),
        SetOf("tkinds_when", when="text"),
        Lookup("tkinds_of:{value}", on="text"),
        Ranking("tkinds_in:{text}", score="number"),
    ]
    for index in indexes:
        registry._refused.clear()
        reason = refuse(Poster, fields=["text", "number"], indexes=[index])
        assert f"SQL cannot look up 'text', whose values {kind.__name__} converts" in reason


def test_number_that_python_alone_converts_is_a_score(tables: Create, declare: Declare) -> None:
    class Offer(Sample):
        price = PriceField(max_digits=9, decimal_places=2, null=True)

    tables(Offer)
    cheap, dear, _ = (Offer._base_manager.create(price=price) for price in ("1.50", "20.00", None))
    mirror = declare(Offer, fields=["price"], indexes=[Ranking("tkinds", score="price")])
    for read in (lambda: mirror.top("tkinds", 5), lambda: [place.pk for place in mirror.page("tkinds", 5, low=2)]):
        found = read()
        with sql_only():
            assert read() == found
    assert mirror.top("tkinds", 5) == [dear.pk, cheap.pk]


def test_json_in_a_hash_is_refused() -> None:
    class Setting(Sample):
        data = models.JSONField()

    assert "a hash cannot contain the JSON of 'data'" in refuse(Setting, fields=["data"], record_kind="hash")


def test_number_that_sql_has_otherwise_is_no_score() -> None:
    class Offer(Sample):
        price = CentsField()

    reason = refuse(Offer, fields=["price"], indexes=[Ranking("tkinds", score="price")])
    assert "SQL cannot order by 'price', whose values CentsField converts; write index()" in reason


def test_field_that_an_app_adds_later_is_refused_with_the_order_of_apps() -> None:
    class Song(Sample):
        title = models.TextField()

    register(type("OddMirror", (Mirror,), {"model": Song, "key": "tkind:{pk}", "fields": ["title_en"]}))
    [message] = check_declarations()
    assert "INSTALLED_APPS" not in str(message.hint)
    models.TextField(null=True).contribute_to_class(Song, "title_en")
    [message] = check_declarations()
    assert "list mirror behind it" in str(message.hint)


def test_integers_of_any_length_in_json_are_equal(tables: Create, declare: Declare) -> None:
    class Wallet(Sample):
        name = models.TextField()
        data = models.JSONField()

    tables(Wallet)
    data = {"long": [10**30, -(2**70)], "text": "é", "part": 1.5}
    row = Wallet._base_manager.create(name="a", data=data)
    mirror = declare(Wallet, fields=["name", "data"], indexes=[SetOf("tkinds:{value}", over="name")])
    Wallet._base_manager.update(name="b")
    assert assert_equal(mirror) == {str(row.pk): {"name": "b", "data": data}}
    assert (ask(mirror, "tkinds:a"), ask(mirror, "tkinds:b")) == (set(), {row.pk})
    assert list(runs.verify([mirror.name])) == []
    with sql_only():
        assert mirror.get(row.pk) == {"name": "b", "data": data}


def test_json_of_other_values_is_refused_or_read_without_a_loss() -> None:
    for value in ({"a": 2**64}, {"a": "\ud800"}, {"b": [{"c": -(10**40)}], "a": None}):
        encoded = json_texts.encode(value)
        assert json_texts.decode(encoded) == value
        assert json.loads(encoded) == value
    assert json_texts.encode({"b": 2**63, "a": 1}) == b'{"a":1,"b":9223372036854775808}'
    for wrong in ({"a": object()}, {1: 2**64}, {"a": [2**64, float("nan")]}, {"a": [2**64, b""]}):
        with pytest.raises(TypeError):
            json_texts.encode(wrong)


def test_field_called_value_is_no_placeholder(tables: Create, declare: Declare) -> None:
    class Setting(Sample):
        name = models.TextField()
        value = models.JSONField()

    class Shade(Sample):
        value = models.TextField()
        setting = models.ForeignKey(Setting, models.CASCADE, related_name="shades")

    tables(Setting, Shade)
    row = Setting._base_manager.create(name="a", value={"b": 1})
    shade = Shade._base_manager.create(value="red", setting=row)
    mirror = declare(Setting, fields=["name", "value"], indexes=[SetOf("tkinds:{value}", over="name")])
    assert ask(mirror, "tkinds:a") == {row.pk}
    listed = Values("shades", "value", name="value")
    index = SetOf("tkinds_shade:{value}", over="value")
    mirror = declare(Setting, name="odd_list", key="tkind_list:{pk}", fields=[listed], indexes=[index])
    assert ask(mirror, "tkinds_shade:red") == {row.pk}
    index = SetOf("tkinds_text", member="{value}\0{pk}")
    mirror = declare(Shade, name="odd_text", key="tkind_text:{pk}", fields=["value"], indexes=[index])
    assert ask(mirror, "tkinds_text") == {shade.pk}
    assert relay_client().smembers("tkinds_text") == {f"red\0{shade.pk}".encode()}


@pytest.mark.only_on("postgres")
def test_set_over_a_search_vector_is_refused() -> None:
    from django.contrib.postgres.search import SearchVectorField

    class Essay(Sample):
        words = SearchVectorField(null=True)

    assert "is a search vector, and its text is no part of a key" in refuse(
        Essay, fields=["words"], indexes=[SetOf("tkinds:{value}", over="words")]
    )


def test_geometry_is_refused_with_the_alternative() -> None:
    class PointField(models.TextField):
        geom_type = "POINT"  # as fields of django.contrib.gis, which needs libraries

    class Stop(Sample):
        place = PointField()

    assert "'place' is a geometry, and records are JSON; mirror columns of text" in refuse(Stop, fields=["place"])


@pytest.mark.only_on("sqlite")  # PostgreSQL refuses such a text
def test_text_with_a_zero_byte_is_found(tables: Create, declare: Declare) -> None:
    class Raw(Sample):
        text = models.TextField()

    tables(Raw)
    row = Raw._base_manager.create(text="a\0b")
    mirror = declare(Raw, fields=["text"], indexes=[SetOf("tkinds:{value}", over="text")])
    assert ask(mirror, "tkinds:a\0b") == {row.pk}
    assert ask(mirror, "tkinds:a") == set()


def test_sums_of_decimals_have_the_places_of_their_column(tables: Create, declare: Declare) -> None:
    class Till(Sample):
        mirror_value_0 = models.IntegerField(default=0)  # the names of the queries must not collide with columns
        mirror_score = models.IntegerField(default=0)

    class Sale(Sample):
        till = models.ForeignKey(Till, models.CASCADE, related_name="sales")
        price = models.DecimalField(max_digits=5, decimal_places=2)
        mirror_value = models.IntegerField(default=0)

    tables(Till, Sale)
    till = Till._base_manager.create()
    for price in ("0.10", "0.20", "999.20"):
        Sale._base_manager.create(till=till, price=Decimal(price))
    mirror = declare(
        Till,
        fields=[Sum("sales", "price", name="the day's total"), Count("sales", name="mirror_value_0")],
        indexes=[
            SetOf("tkinds:{value}", over="the day's total"),
            SetOf("tkinds_when", when="mirror_value_0"),
            Ranking("tkinds_ranked", score="mirror_value_0"),
        ],
    )
    assert mirror.get(till.pk) == {"the day's total": "999.50", "mirror_value_0": 3}
    assert ask(mirror, "tkinds:999.50") == {till.pk}
    assert ask(mirror, "tkinds:999.5") == set()
    Sale._base_manager.filter(price__gt=1).update(price=Decimal("999.99"))
    assert_equal(mirror)
    assert ask(mirror, "tkinds:1000.29") == {till.pk}  # more digits than the column has
    with sql_only():
        assert mirror.top("tkinds_ranked", 1) == [till.pk]
    Sale._base_manager.all().delete()
    assert_equal(mirror)
    assert ask(mirror, "tkinds:0.00") == {till.pk}


@pytest.mark.parametrize("value", ["123456789012345.00000000000000000000", "100000000000000000000", "0.1", "-0.5"])
def test_decimals_of_many_digits_are_found(tables: Create, declare: Declare, value: str) -> None:
    class Weight(Sample):
        grams = models.DecimalField(max_digits=60, decimal_places=20)

    tables(Weight)
    row = Weight._base_manager.create(grams=Decimal(value))
    mirror = declare(Weight, fields=["grams"], indexes=[SetOf("tkinds:{value}", over="grams")])
    record = mirror.get(row.pk)
    assert record
    assert Decimal(record["grams"]) == Decimal(value)
    assert ask(mirror, f"tkinds:{record['grams']}") == {row.pk}


def test_address_of_another_protocol_is_found(tables: Create, declare: Declare) -> None:
    class Host(Sample):
        ip = models.GenericIPAddressField(protocol="ipv4")

    tables(Host)
    row = Host._base_manager.create(ip="::1")  # only forms check the protocol
    mirror = declare(Host, fields=["ip"], indexes=[SetOf("tkinds:{value}", over="ip")])
    assert ask(mirror, "tkinds:::1") == {row.pk}


def test_durations_of_centuries_share_a_text(tables: Create, declare: Declare) -> None:
    class Era(Sample):
        length = models.DurationField()

    tables(Era)
    long = timedelta(seconds=9 * 10**9, microseconds=-1)
    rows = [Era._base_manager.create(length=long - timedelta(microseconds=offset)) for offset in (0, 1, 100)]
    mirror = declare(Era, fields=["length"], indexes=[SetOf("tkinds:{value}", over="length")])
    for row in rows:
        record = mirror.get(row.pk)
        assert record
        assert row.pk in ask(mirror, f"tkinds:{write_text(record['length'])}")


def test_links_that_lead_nowhere_are_left_out(tables: Create, declare: Declare) -> None:
    class Topic(Sample):
        name = models.TextField()

    class Essay(Sample):
        topics = models.ManyToManyField(Topic, through="Mark", related_name="essays")

    class Mark(Sample):
        essay = models.ForeignKey(Essay, models.CASCADE)
        topic = models.ForeignKey(Topic, models.SET_NULL, null=True)

    tables(Topic, Essay, Mark)
    essay, topic = Essay._base_manager.create(), Topic._base_manager.create(name="t")
    Mark._base_manager.create(essay=essay)
    mark = Mark._base_manager.create(essay=essay, topic=topic)
    fields = [Names("topics"), Ids("topics", name="ids"), Count("topics")]
    indexes = [SetOf("tkinds:{value}", over="topics"), SetOf("tkinds_any", when="topics")]
    mirror = declare(Essay, fields=fields, indexes=indexes)
    assert mirror.get(essay.pk) == {"topics": ["t"], "ids": [topic.pk], "topics_count": 1}
    assert ask(mirror, "tkinds_any") == {essay.pk}
    Mark._base_manager.filter(pk=mark.pk).update(topic=None)
    assert assert_equal(mirror) == {str(essay.pk): {"topics": [], "ids": [], "topics_count": 0}}
    assert ask(mirror, "tkinds_any") == set()


def test_indexes_with_one_key_are_read_together(tables: Create, declare: Declare) -> None:
    class Edition(Sample):
        short = models.TextField(unique=True)
        long = models.TextField(unique=True)

    tables(Edition)
    one, two = (Edition._base_manager.create(short=short, long=f"long {short}") for short in ("1", "2"))
    three = Edition._base_manager.create(short="3", long="1")
    indexes = [
        *(SetOf("tkinds:{value}", over=name) for name in ("short", "long")),
        *(Lookup("tkinds_of:{value}", on=name) for name in ("short", "long")),
    ]
    mirror = declare(Edition, fields=["short", "long"], indexes=indexes)
    assert ask(mirror, "tkinds:1") == {one.pk, three.pk}
    for text in ("2", "long 2"):
        assert ask(mirror, f"tkinds:{text}") == {two.pk}
        with sql_only():
            assert mirror.find(f"tkinds_of:{text}") == two.pk


def test_list_in_one_column_is_mirrored(tables: Create, declare: Declare) -> None:
    class Poster(Sample):
        words = WordsField()

    tables(Poster)
    row = Poster._base_manager.create(words=["a", "b"])
    assert declare(Poster, fields=["words"]).get(row.pk) == {"words": ["a", "b"]}


def test_primary_key_that_python_converts_is_refused() -> None:
    class Ticket(Sample):
        code = CodeField(max_length=9, primary_key=True)
        name = models.TextField()

    class Seat(Sample):
        ticket = models.ForeignKey(Ticket, models.CASCADE)
        others = models.ManyToManyField(Ticket, related_name="+")

    for model, fields in ((Ticket, ["name"]), (Seat, ["ticket__name"]), (Seat, [Names("others")])):
        registry._refused.clear()
        assert "Python converts the primary key of mirrortest.Ticket (CodeField)" in refuse(model, fields=fields)


@pytest.mark.only_on("postgres")
def test_key_of_a_type_that_pads_is_refused() -> None:
    class PaddedField(models.CharField):
        def db_type(self, connection: Any) -> str:
            return "char(5)"

    class Land(Sample):
        code = PaddedField(max_length=5, primary_key=True)
        name = models.TextField()

    assert "has the type char(5), which pads texts" in refuse(Land, fields=["name"])


@pytest.mark.parametrize("kind", [models.FileField, models.TextField])
def test_an_empty_text_is_false(tables: Create, declare: Declare, kind: Any) -> None:
    class Face(Sample):
        picture = kind(blank=True)

    tables(Face)
    row, _ = (Face._base_manager.create(picture=text) for text in ("x.png", ""))
    blank = Face._base_manager.create(picture="  ")
    mirror = declare(Face, fields=["picture"], indexes=[SetOf("tkinds", when="picture")])
    assert ask(mirror, "tkinds") == {row.pk, blank.pk}


def test_rows_and_links_that_lead_nowhere_are_left_out_by_sql_too(tables: Create, declare: Declare) -> None:
    class Land(Sample):
        name = models.TextField()

    class Town(Sample):
        land = models.ForeignKey(Land, models.DO_NOTHING, db_constraint=False)
        lands = models.ManyToManyField(Land, related_name="+", db_constraint=False)
        size = models.IntegerField(default=0)

    tables(Land, Town)
    land = Land._base_manager.create(name="a")
    town, lost = (Town._base_manager.create(land_id=pk) for pk in (land.pk, land.pk + 70))
    Town.lands.through._base_manager.create(town_id=town.pk, land_id=land.pk + 70)
    indexes = [SetOf("tkinds"), Ranking("tkinds_ranked", score="size"), SetOf("tkinds_lands", when="lands")]
    mirror = declare(Town, fields=["land__name", "size", Names("lands")], indexes=indexes)
    assert mirror.get(lost.pk) is None
    assert ask(mirror, "tkinds") == {town.pk}
    assert ask(mirror, "tkinds_lands") == set()
    with sql_only():
        assert mirror.top("tkinds_ranked", 5) == [town.pk]
    Land._base_manager.create(pk=land.pk + 70, name="late")
    assert len(assert_equal(mirror)) == 2
    assert ask(mirror, "tkinds_lands") == {town.pk}


def test_divided_structures_with_one_hash_tag_are_apart(tables: Create, declare: Declare) -> None:
    class Book(Sample):
        size = models.IntegerField()

    tables(Book)
    rows = [Book._base_manager.create(size=size) for size in range(9)]
    indexes = [Ranking("{{tkinds}}:top", score="size", buckets=4), SetOf("{{tkinds}}:all", buckets=4)]
    mirror = declare(Book, fields=["size"], indexes=indexes)
    Book._base_manager.filter(size=3).delete()
    drains.drain_all()
    assert ask(mirror, "{tkinds}:all") == {row.pk for row in rows if row.size != 3}
    assert runs.verify([mirror.name]) == []


def test_divided_structures_that_cannot_be_told_apart_are_refused() -> None:
    class Shelf(Sample):
        size = models.IntegerField()
        room = models.TextField()

    indexes = [
        Ranking("{{tkinds}}:top:{value}", over="room", score="size", buckets=4),
        SetOf("{{tkinds}}:all:{value}", over="room", buckets=4),
    ]
    kind = {"model": Shelf, "key": "tkind:{pk}", "fields": ["size", "room"], "indexes": indexes}
    register(type("OddMirror", (Mirror,), kind))
    assert [message.id for message in check_declarations()] == ["mirror.E008"]


def test_members_with_a_value_name_their_rows(tables: Create, declare: Declare) -> None:
    class Part(Sample):
        code = models.TextField(primary_key=True)
        title = models.TextField()

    tables(Part)
    for code, title in (("a", "b:c"), ("a:b", "c"), ("d", "0")):
        Part._base_manager.create(code=code, title=title)
    index = SetOf("tkinds", member="{title}\0{pk}")
    mirror = declare(Part, fields=["title"], indexes=[index])
    assert ask(mirror, "tkinds") == {"a", "a:b", "d"}
    Part._base_manager.filter(pk="a").delete()
    drains.drain_all()
    assert ask(mirror, "tkinds") == {"a:b", "d"}
    for member in ("{pk}:{title}", "{title}:{pk}", "{pk}\0{pk}{title}"):
        registry._refused.clear()
        assert "member= has to end with" in refuse(Part, fields=["title"], indexes=[SetOf("tk", member=member)])


def test_ranking_in_a_hash_over_a_nullable_relation_is_refused() -> None:
    class Shelf(Sample):
        size = models.IntegerField()

    class Roll(Sample):
        shelf = models.ForeignKey(Shelf, models.CASCADE, null=True)

    kind = {"record_kind": "hash", "indexes": [Ranking("tkinds", score="shelf__size")]}
    assert "a missing 'shelf__size' is an empty text" in refuse(Roll, fields=["shelf__size"], **kind)


def test_sum_of_floats_is_refused() -> None:
    class Till(Sample):
        name = models.TextField()

    class Coin(Sample):
        till = models.ForeignKey(Till, models.CASCADE, related_name="coins")
        weight = models.FloatField()

    assert "a sum of floats depends on the order" in refuse(Till, fields=[Sum("coins", "weight")])


def test_mistakes_of_models_and_queries_give_no_traceback() -> None:
    class Ghostly(Sample):
        ghost = models.ForeignKey("mirrortest.Ghost", models.CASCADE)
        title = models.TextField()

    for attributes in (
        {"fields": ["ghost__name"]},
        {"fields": ["title"], "where": models.Q(pk__in=Ghostly._base_manager.all())},
        {"fields": ["title__"]},
        {"fields": ["title"], "key": b"x:{pk}"},
        {"fields": ["title"], "key": "x:{pk"},
        {"fields": [Count("ghost__titles")]},
        {"fields": [models.Value(1)]},
        {"fields": ["title"], "record_kind": "hsh"},
    ):
        registry._refused.clear()
        assert refuse(Ghostly, **attributes)


def test_condition_that_a_database_cannot_execute_is_reported() -> None:
    class Fact(Sample):
        size = models.IntegerField()

    kind = {"model": Fact, "key": "tkind:{pk}", "fields": ["size"], "where": models.Q(size__isnull="yes")}
    register(type("OddMirror", (Mirror,), kind))
    [message] = [found for found in check_queries(databases=["default"]) if "odd" in found.msg]
    assert "The database cannot select the rows of mirror 'odd'" in message.msg


def test_relation_to_a_key_that_ignores_capitals_is_refused(tables: Create, declare: Declare) -> None:
    collation = "NOCASE" if connection.vendor == "sqlite" else "und-x-icu"

    class Region(Sample):
        code = models.CharField(max_length=9, primary_key=True, db_collation=collation)
        name = models.TextField()

    class Town(Sample):
        region = models.ForeignKey(Region, models.CASCADE, related_name="towns")

    assert f"a primary key with the collation '{collation}'" in refuse(Region, fields=[Count("towns")])
    registry._refused.clear()
    tables(Region, Town)
    region = Region._base_manager.create(code="de", name="a")
    written = "DE" if connection.vendor == "sqlite" else "de"
    town = Town._base_manager.create(region_id=written)
    mirror = declare(Town, fields=["region__name"])
    Region._base_manager.filter(pk=region.pk).update(name="b")
    assert assert_equal(mirror) == {str(town.pk): {"region__name": "b"}}


def test_times_are_those_of_utc_whatever_the_time_zone_of_the_database(
    tables: Create, declare: Declare, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Moment(Sample):
        at = models.DateTimeField()

    monkeypatch.setitem(connection.settings_dict, "TIME_ZONE", "Asia/Shanghai")
    connection.__dict__.pop("timezone", None)
    connection.__dict__.pop("timezone_name", None)
    tables(Moment)
    row = Moment._base_manager.create(at=datetime(2026, 1, 1, 4, 30, tzinfo=UTC))
    mirror = declare(Moment, fields=["at"], indexes=[SetOf("tkinds:{value}", over="at")])
    assert mirror.get(row.pk) == {"at": "2026-01-01T04:30:00+00:00"}
    assert ask(mirror, "tkinds:2026-01-01T04:30:00+00:00") == {row.pk}
    connection.__dict__.pop("timezone", None)
    connection.__dict__.pop("timezone_name", None)


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"fields": [Column("size", name="pk")]}, 'no field can be called "pk"'),
        ({"indexes": [Ranking("tk", score=None)]}, "score= is the name of a field, or a number"),  # type: ignore[arg-type]
        ({"indexes": [Ranking("tk", score="tags")]}, "is neither a number nor a date"),
        ({"indexes": [Alphabetical("tk", by="tags")]}, "is a list, and its text is no part of a member"),
        ({"indexes": [Alphabetical("tk", by="data")]}, "is JSON, and its text is no part of a key or member"),
        ({"indexes": [Ranking("tk", score="hour")]}, "is neither a number nor a date"),
        ({"fields": [Names("tags__page")]}, "has several steps"),
    ],
)
def test_declarations_that_mean_nothing_are_refused(attributes: dict[str, Any], reason: str) -> None:
    class Tag(Sample):
        name = models.TextField()

    class Page(Sample):
        size = models.IntegerField()
        data = models.JSONField(default=dict)
        hour = models.TimeField(null=True)
        tags = models.ManyToManyField(Tag)

    assert reason in refuse(Page, **{"fields": ["size", "data", "hour", Names("tags")], **attributes})


def test_model_without_a_table_of_its_own_is_refused() -> None:
    class Base(Sample):
        class Meta(Sample.Meta):
            abstract = True

    class Chosen(Sample):
        class Meta(Sample.Meta):
            swappable = "AUTH_USER_MODEL"

    assert "has the abstract model mirrortest.Base, which has no table" in refuse(Base, fields=["id"])
    registry._refused.clear()
    assert "which is swapped for accounts.User" in refuse(Chosen, fields=["id"])


def test_translated_text_in_a_condition_is_refused() -> None:
    class Shift(Sample):
        day = models.TextField()

    kind = {"model": Shift, "key": "tkind:{pk}", "fields": ["day"], "where": models.Q(day=gettext_lazy("Monday"))}
    register(type("OddMirror", (Mirror,), kind))
    [message] = check_declarations()
    assert (message.id, "the translated text 'Monday'" in message.msg) == ("mirror.E029", True)


def test_manager_that_needs_a_tenant_breaks_no_check() -> None:
    class TenantManager(models.Manager[Any]):
        def get_queryset(self) -> Any:
            raise RuntimeError("no tenant")

    class Lease(Sample):
        name = models.TextField()
        objects = TenantManager()

    register(type("OddMirror", (Mirror,), {"model": Lease, "key": "tkind:{pk}", "fields": ["name"]}))
    assert check_declarations() == []


def test_top_does_not_start_below_zero(tables: Create, declare: Declare) -> None:
    class Score(Sample):
        size = models.IntegerField()

    tables(Score)
    mirror = declare(Score, fields=["size"], indexes=[Ranking("tkinds", score="size")])
    with pytest.raises(ValueError, match="start is -1"):
        mirror.top("tkinds", 5, start=-1)


@pytest.fixture
def case_insensitive(committed: None) -> Iterator[str]:
    """Create a collation in which capital and small letters are equal. Return its name."""
    run("CREATE COLLATION nocase_list (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
    yield "nocase_list"
    run("DROP COLLATION nocase_list")


@pytest.mark.only_on("postgres")
def test_sql_finds_the_values_of_arrays_as_redis_does(case_insensitive: str, tables: Create, declare: Declare) -> None:
    from django.contrib.postgres.fields import ArrayField

    class Basket(Sample):
        words = ArrayField(models.CharField(max_length=3, db_collation=case_insensitive))
        prices = ArrayField(models.DecimalField(max_digits=4, decimal_places=2))

    tables(Basket)
    indexes = [SetOf("tkinds:w:{value}", over="words"), SetOf("tkinds:p:{value}", over="prices")]
    mirror = declare(Basket, fields=["words", "prices"], indexes=indexes)
    row = Basket._base_manager.create(words=["abc", "É"], prices=[Decimal("12.50"), Decimal("-0.10")])
    assert_equal(mirror)
    expected = {
        "w:abc": {row.pk}, "w:ABC": set(), "w:abcd": set(), "w:É": {row.pk}, "w:é": set(),
        "p:12.50": {row.pk}, "p:-0.10": {row.pk}, "p:12.5": set(), "p:123.00": set(), "p:0.00": set(),
    }  # fmt: skip
    assert {key: mirror.members(f"tkinds:{key}") for key in expected} == expected
    with sql_only():
        assert {key: mirror.members(f"tkinds:{key}") for key in expected} == expected
