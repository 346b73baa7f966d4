"""Readers with values of any kind in a key, also values that nobody stored, answer equally from Redis and from SQL."""

import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.db.models import Q

from mirror import Column, Count, Lookup, Mirror, Names, Ranking, SetOf, Sum, register
from mirror.capture import install
from mirror.declare.indexes import Index, Template
from mirror.declare.layout import Layout
from mirror.declare.paths import DeclarationError
from mirror.relay.sql_only import sql_only
from mirror.upkeep import rebuild
from tests.projects.mirrortest.models import Group, Item, Kinds
from tests.support.mirror.items import drained
from tests.support.mirror.outbox import run

pytestmark = [pytest.mark.usefixtures("committed", "own_registry"), pytest.mark.also_on("cluster")]
COLUMNS = ["text", "other", "nocase", "price", "ratio", "is_new", "day", "moment", "length", "code", "address"]


class ReadKinds(Mirror):
    """A set over each column, a set for rows in which it is true, and keys of two parts."""

    name = "read_kinds"
    model = Kinds
    key = "kinds:{pk}"
    fields = [*COLUMNS, Column("owner_id", name="first-name")]
    indexes = [
        *(SetOf(f"kinds_{name}:{{value}}", over=name) for name in COLUMNS),
        *(SetOf(f"kinds_true_{name}", when=name) for name in COLUMNS),
        SetOf("kinds_two:{text}:{other}"),
        SetOf("kinds_owner:{first-name}"),
        Ranking("kinds_ranked:{other}", score="price"),
        Lookup("kinds_by_code:{value}", on="code"),
    ]


class ReadGroups(Mirror):
    """Sets over a list with a condition, and over aggregates."""

    name = "read_groups"
    model = Group
    key = "groups:{pk}"
    fields = [
        "name",
        Names("items", name="shown", where=Q(hidden=False)),
        Count("items", where=Q(hidden=True)),
        Sum("items", "score"),
        Sum("kinds", "price"),
    ]
    indexes = [
        SetOf("groups_by_item:{value}", over="shown"),
        SetOf("groups_by_count:{value}", over="items_count"),
        SetOf("groups_by_sum:{items_score_sum}"),
        SetOf("groups_with_shown", when="shown"),
        SetOf("groups_with_hidden", when="items_count"),
        SetOf("groups_with_score", when="items_score_sum"),
        SetOf("groups_with_price", when="kinds_price_sum"),
        Ranking("groups_ranked:{items_count}", score="items_score_sum"),
    ]


ROWS: list[dict[str, Any]] = [
    {},
    {
        "text": "a:b", "other": "c", "nocase": "Straße", "price": Decimal("1.5"), "ratio": 0.1, "is_new": True,
        "day": date(2026, 2, 28), "moment": datetime(2026, 1, 1, 12, 30, tzinfo=UTC), "length": timedelta(hours=1),
        "code": uuid.UUID(int=7), "address": "10.0.0.1",
    },
    {"text": "a", "other": "b:c", "nocase": "straSSE", "price": 2, "length": timedelta(0), "address": "::1"},
    {"text": "A", "other": "", "nocase": "ABC", "ratio": 1.0, "moment": datetime(2026, 1, 1, tzinfo=UTC)},
    {"text": "É %_\\ 表", "other": "*", "nocase": "abc", "ratio": 1e-7, "length": timedelta(microseconds=1)},
]  # fmt: skip
# Values as visitors write them: of other rows, in other forms, out of range, and of other types
TRIED = [
    "", "a", "A", "a:b", "b:c", "É %_\\ 表", "*", "abc", "ABC", "Straße", "1", "01", "1.5", "1.50", "1.500", "2",
    "2.00", "-0.00",
    "1e0", "NaN", "Infinity", "0", "0.0", "0.00", "0.1", "1.0", "1e-07", "1e-06", "-0.0", "True", "true", "False",
    "2026-02-28", "2026-2-28", "2026-02-30", "2026-02-28T00:00:00", "2026-01-01T12:30:00+00:00",
    "2026-01-01T13:30:00+01:00", "2026-01-01T00:00:00", "2026-01-01T00:00:00+00:00", "3600.0", "3600", "1:00:00",
    str(uuid.UUID(int=7)), str(uuid.UUID(int=7)).upper(), uuid.UUID(int=7).hex, "10.0.0.1", "010.0.0.1", "::1",
    "0:0:0:0:0:0:0:1", "a\0b", "9" * 30, "-1", "x" * 300, "null", "None", "\ud7ff", "a b", "' OR 1=1 --",
]  # fmt: skip


@pytest.fixture(autouse=True)
def rows(own_registry: None) -> Iterator[list[Kinds]]:
    if connection.vendor == "postgresql":  # SQLite has such a collation
        table, column = Kinds._meta.db_table, "varchar(100) COLLATE"
        run(
            "CREATE COLLATION nocase_test (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
            f"ALTER TABLE {table} ALTER COLUMN nocase TYPE {column} nocase_test",
        )
    register(ReadKinds)
    register(ReadGroups)
    install.install()
    group = Group.objects.create(name="one")
    yield [Kinds.objects.create(owner=group if n % 2 else None, **row) for n, row in enumerate(ROWS)]
    if connection.vendor == "postgresql":
        run(f'ALTER TABLE {table} ALTER COLUMN nocase TYPE {column} "default"', "DROP COLLATION nocase_test")


@pytest.fixture
def warm(rows: list[Kinds]) -> None:
    rebuild.rebuild(["read_kinds", "read_groups"])
    drained()


def only(engine: str) -> AbstractContextManager[None]:
    return sql_only() if engine == "SQL" else nullcontext()


def read_both(mirror: type[Mirror], key: str) -> tuple[Any, Any]:
    """Return the answers of Redis and of SQL."""
    answers = []
    for engine in ("Redis", "SQL"):
        with only(engine):
            answers.append(mirror.members(key))
    return answers[0], answers[1]


@pytest.mark.usefixtures("warm")
@pytest.mark.parametrize("name", COLUMNS)
def test_any_value_in_a_key_gives_equal_answers(name: str, rows: list[Kinds]) -> None:
    found = 0
    for text in TRIED:
        by_redis, by_sql = read_both(ReadKinds, f"kinds_{name}:{text}")
        assert by_sql == by_redis, text
        found += len(by_redis)
    assert found >= 1
    by_redis, by_sql = read_both(ReadKinds, f"kinds_true_{name}")
    assert by_sql == by_redis
    assert by_redis or name == "price"


@pytest.mark.usefixtures("warm")
def test_collations_do_not_join_texts(rows: list[Kinds]) -> None:
    assert read_both(ReadKinds, "kinds_nocase:abc") == ({rows[4].pk}, {rows[4].pk})


@pytest.mark.usefixtures("warm")
def test_separators_in_values_belong_to_any_part_of_a_key(rows: list[Kinds]) -> None:
    both = {rows[1].pk, rows[2].pk}
    assert read_both(ReadKinds, "kinds_two:a:b:c") == (both, both)
    assert read_both(ReadKinds, "kinds_two::") == ({rows[0].pk}, {rows[0].pk})  # an empty text and a null
    assert read_both(ReadKinds, "kinds_two:A:") == ({rows[3].pk}, {rows[3].pk})
    assert read_both(ReadKinds, "kinds_two:a:b:d") == (set(), set())
    for engine in ("Redis", "SQL"):
        with only(engine), pytest.raises(LookupError, match="more than 100 ways"):
            ReadKinds.members("kinds_two:" + ":" * 200)


@pytest.mark.usefixtures("warm")
def test_placeholders_may_have_any_name_and_no_value(rows: list[Kinds]) -> None:
    own = {row.pk for row in rows[1::2]}
    group = Group.objects.get()
    assert read_both(ReadKinds, f"kinds_owner:{group.pk}") == (own, own)
    without = {row.pk for row in rows[::2]}
    assert read_both(ReadKinds, "kinds_owner:") == (without, without)


@pytest.mark.usefixtures("warm")
def test_rankings_and_lookups_take_any_value(rows: list[Kinds]) -> None:
    for engine in ("Redis", "SQL"):
        with only(engine):
            assert ReadKinds.top("kinds_ranked:c", 5) == [rows[1].pk]
            assert set(ReadKinds.top("kinds_ranked:", 5)) == {rows[0].pk, rows[3].pk}
            assert ReadKinds.top("kinds_ranked:a\0", 5) == []
            assert ReadKinds.find(f"kinds_by_code:{uuid.UUID(int=7)}") == rows[1].pk
            assert ReadKinds.find("kinds_by_code:7") is None


def test_lists_with_conditions_and_aggregates_are_answered_by_sql() -> None:
    two, empty = Group.objects.create(name="two"), Group.objects.create(name="empty")
    one = Group.objects.get(name="one")
    Item.objects.create(name="shown", group=one, score=3)
    Item.objects.create(name="secret", group=one, hidden=True)
    Item.objects.create(name="other secret", group=two, hidden=True)
    rebuild.rebuild(["read_groups"])
    drained()
    expected = {
        "groups_by_item:shown": {one.pk},
        "groups_by_item:secret": set(),
        "groups_by_count:1": {one.pk, two.pk},
        "groups_by_count:01": set(),
        "groups_by_count:x": set(),
        "groups_by_count:0": {empty.pk},
        "groups_by_sum:3": {one.pk},
        "groups_by_sum:0": {two.pk, empty.pk},
        "groups_with_shown": {one.pk},
        "groups_with_hidden": {one.pk, two.pk},
        "groups_with_score": {one.pk},
    }
    assert {key: read_both(ReadGroups, key) for key in expected} == {key: (pks, pks) for key, pks in expected.items()}
    by_redis, by_sql = read_both(ReadGroups, "groups_with_price")
    assert by_redis == by_sql
    for engine in ("Redis", "SQL"):
        with only(engine):
            assert ReadGroups.top("groups_ranked:1", 5) == [one.pk, two.pk]


def test_fields_that_sql_cannot_look_up_are_refused() -> None:
    class OfList(ReadGroups):
        indexes = [SetOf("groups:{shown}")]

    with pytest.raises(DeclarationError, match="'shown' is a list"):
        Layout(OfList)


@pytest.mark.parametrize(
    "index", [SetOf("k:{value}", over="facts"), SetOf("k", when="facts"), Ranking("k:{facts}", score="ratio")]
)
def test_json_is_refused_in_keys(index: Index) -> None:
    class OfJson(ReadKinds):
        fields = [*COLUMNS, "facts"]
        indexes = [index]

    with pytest.raises(DeclarationError, match="'facts' is JSON, and its text is no part of a key"):
        Layout(OfJson)


@pytest.mark.only_on("postgres")
def test_each_value_of_an_array_has_a_set() -> None:
    from tests.projects.mirrortest.models import Listed

    class ReadListed(Mirror):
        name = "read_listed"
        model = Listed
        key = "listed:{pk}"
        fields = ["words", "amounts"]
        indexes = [
            SetOf("listed_word:{value}", over="words"),
            SetOf("listed_amount:{value}", over="amounts"),
            SetOf("listed_any", when="words"),
        ]

    register(ReadListed)
    install.install()
    row = Listed._default_manager.create(words=["a", "b:c", "a", ""], amounts=[Decimal("1.5"), 2])
    Listed._default_manager.create()
    rebuild.rebuild(["read_listed"])
    drained()
    assert ReadListed.get(row.pk) == {"words": ["a", "b:c", "a", ""], "amounts": ["1.50", "2.00"]}
    keys = ["word:a", "word:b:c", "amount:1.50", "any"]
    assert [read_both(ReadListed, f"listed_{key}") for key in keys] == [({row.pk}, {row.pk})] * 4
    keys = ["word:", "word:A", "amount:1.5", "amount:x"]
    assert [read_both(ReadListed, f"listed_{key}") for key in keys] == [(set(), set())] * 4


def test_a_template_finds_every_way_to_divide_a_text() -> None:
    assert list(Template("k:{a}:{b}").find_matches("k:x:y:z")) == [{"a": "x:y", "b": "z"}, {"a": "x", "b": "y:z"}]
    assert list(Template("{a}-{a}").find_matches("x-x")) == [{"a": "x"}]
    assert list(Template("{a}-{a}").find_matches("x-y")) == []
    assert list(Template("{{tag}}:{first-name}:end").find_matches("{tag}:a:end")) == [{"first-name": "a"}]
    assert list(Template("fixed").find_matches("fixed")) == [{}]
    assert list(Template("fixed").find_matches("fixed:")) == []
