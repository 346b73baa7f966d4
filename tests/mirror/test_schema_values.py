"""Kinds of values: Redis and SQL answer equally for each, or a check refuses the declaration."""

from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from django.db import connection, models

from mirror import Count, Ids, Lookup, Mirror, Names, Ranking, SetOf, Sum, registry
from mirror.read.sql_only import sql_only
from tests.support.mirror.schemas import Create, Declare, Sample, assert_equal, refuse

pytestmark = pytest.mark.usefixtures("own_registry", "committed", "no_hints", "isolated")


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


def test_members_of_an_enum_are_their_values(tables: Create, declare: Declare) -> None:
    class Paint(Sample):
        color = ColorField(max_length=9, null=True)

    tables(Paint)
    row = Paint._base_manager.create(color=Color.RED)
    mirror = declare(Paint, fields=["color"], indexes=[SetOf("tkinds:{value}", over="color")])
    assert mirror.get(row.pk) == {"color": "red"}
    assert ask(mirror, "tkinds:red") == {row.pk}
    Paint._base_manager.update(color=Color.BLUE)
    assert_equal(mirror)
    assert ask(mirror, "tkinds:blue") == {row.pk}
    assert ask(mirror, "tkinds:red") == set()


def test_letters_that_a_column_never_has_find_no_row(tables: Create, declare: Declare) -> None:
    class Login(Sample):
        name = LowerField(max_length=9)

    tables(Login)
    row = Login._base_manager.create(name="Ann")
    mirror = declare(Login, fields=["name"], indexes=[SetOf("tkinds:{value}", over="name")])
    assert ask(mirror, "tkinds:ann") == {row.pk}
    assert ask(mirror, "tkinds:Ann") == set()


@pytest.mark.on_sqlite  # PostgreSQL refuses such a text
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


def test_list_in_one_column_is_refused_as_a_part_of_a_key(tables: Create, declare: Declare) -> None:
    class Poster(Sample):
        words = WordsField()

    assert "'words', which is a list in one column" in refuse(
        Poster, fields=["words"], indexes=[SetOf("tkinds:{value}", over="words")]
    )
    registry._refused.clear()
    tables(Poster)
    row = Poster._base_manager.create(words=["a", "b"])
    assert declare(Poster, fields=["words"]).get(row.pk) == {"words": ["a", "b"]}


def test_primary_key_that_python_converts_is_refused() -> None:
    class Ticket(Sample):
        code = CodeField(max_length=9, primary_key=True)
        name = models.TextField()

    assert "Python converts the primary key of mirrortest.Ticket" in refuse(Ticket, fields=["name"])


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
