"""Rankings and names of columns whose values SQL compares otherwise than Redis its doubles and bytes."""

import math
import random
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection, models
from django.test.utils import CaptureQueriesContext

from mirror import Alphabetical, Count, Mirror, Ranking, Scored, Sum
from mirror.comparison.structures import STRUCTURES
from mirror.declare.indexes import read_score
from mirror.declare.layout import UNLIKE_TEXTS
from mirror.declare.readers.scores import build_order
from mirror.relay.sql_only import sql_only
from mirror.verify import runs
from tests.mirror.schemas import Create, Declare, Sample, refuse
from tests.projects.mirrortest.models import Group
from tests.support.mirror.answers import compare, list_readers
from tests.support.mirror.items import drained
from tests.support.mirror.outbox import run

pytestmark = [pytest.mark.usefixtures("own_registry", "committed", "isolated"), pytest.mark.also_on("sqlite")]
TRIES = 4  # random arguments of each reader
FIELDS = ["number", "small", "wide", "price", "ratio", "is_new", "day", "moment"]
SUMS = ["parts_price_sum", "parts_wide_sum", "parts_number_sum", "parts_count"]
BIG = 1_790_000_000_000_000_000


@pytest.fixture
def scored(tables: Create, declare: Declare) -> type[Mirror]:
    """Return a mirror with a ranking by each kind of column and of sum, whose primary keys are UUIDs."""

    class Row(Sample):
        id = models.UUIDField(primary_key=True, default=uuid.uuid4)
        name = models.CharField(max_length=20, default="same")
        number = models.BigIntegerField(null=True)
        small = models.SmallIntegerField(default=0)
        wide = models.DecimalField(max_digits=20, decimal_places=2, default=0)
        price = models.DecimalField(max_digits=6, decimal_places=2, default=0)
        ratio = models.FloatField(default=0)
        is_new = models.BooleanField(default=False)
        day = models.DateField(null=True)
        moment = models.DateTimeField(null=True)

    class Part(Sample):
        row = models.ForeignKey(Row, models.CASCADE, related_name="parts")
        number = models.BigIntegerField()
        price = models.DecimalField(max_digits=6, decimal_places=2)
        wide = models.DecimalField(max_digits=20, decimal_places=2)

    tables(Row, Part)
    dice = random.Random(5)
    moment = datetime(2026, 1, 1, 12, 30, tzinfo=UTC)
    for n in range(14):
        row = Row._default_manager.create(
            id=uuid.UUID(int=dice.getrandbits(128)), name=["same", "", "sam"][n % 5 % 3],
            number=None if n == 5 else BIG + 7 * n if n % 2 else 2**53 + n // 4, small=n % 4 - 2,
            wide=Decimal("12345678901234567.00") + n // 2 if n % 3 else Decimal("0.10"),
            price=[Decimal("-0.01"), 0, Decimal("1.50")][n % 3], ratio=[-0.0, 0.0, -math.inf, math.inf, 0.3][n % 5],
            is_new=n % 2, day=[None, date(2026, 1, 1), date.max][n % 3],
            moment=[moment, moment + timedelta(microseconds=n), datetime.max.replace(tzinfo=UTC), None][n % 4],
        )  # fmt: skip
        for part in range(n % 4):
            price = [Decimal("0.10"), Decimal("0.20"), Decimal("9999.99")][part]
            Part._default_manager.create(row=row, number=BIG // 4 + n % 2, price=price, wide=price + 10**14)
    sums = [Sum("parts", "price"), Sum("parts", "wide"), Sum("parts", "number"), Count("parts")]
    return declare(
        Row,
        fields=["name", *FIELDS, *sums],
        indexes=[
            Alphabetical("tnames", by="name"),
            Ranking("tconstant", score=-0.0),
            *(Ranking(f"tby:{name}", score=name) for name in [*FIELDS, *SUMS]),
            *(Ranking(f"{{{{tdivided}}}}:{name}", score=name, buckets=3) for name in ["number", "parts_price_sum"]),
        ],
    )


def read_both(read: Callable[[], Any]) -> Any:
    """Return the answer of Redis and of SQL."""
    found = read()
    with sql_only():
        assert read() == found
    return found


def test_readers_give_equal_answers(scored: type[Mirror]) -> None:
    drained()
    dice, rows = random.Random(39), list(map(str, scored.model._default_manager.values_list("pk", flat=True)))
    for index in scored.indexes:
        for _ in range(TRIES):
            assert compare(list_readers(scored, index, index.template.fill("", None, {}), rows, dice)) >= 7


def test_rows_with_equal_doubles_share_a_score_and_a_rank(tables: Create, declare: Declare) -> None:
    class Post(Sample):
        id = models.BigIntegerField(primary_key=True)

    tables(Post)
    Post._default_manager.bulk_create(Post(id=BIG + 7 * n) for n in range(5))
    mirror = declare(Post, fields=["id"], indexes=[Ranking("tposts", score="id")])
    pks = [BIG + 7 * n for n in range(5)]
    assert read_both(lambda: mirror.page("tposts", 9)) == [(pk, float(BIG)) for pk in pks]
    assert read_both(lambda: [mirror.rank("tposts", pk) for pk in pks]) == [1] * 5
    assert read_both(lambda: mirror.counts("tposts", [BIG, BIG + 7, 2.5])) == {BIG: 5, BIG + 7: 5, 2.5: 0}
    assert read_both(lambda: mirror.count("tposts", low=-math.inf, high=1e20)) == 5


@pytest.fixture
def nocase() -> Iterator[str]:
    """Return the name of a collation for which texts in other letters are equal."""
    if connection.vendor == "sqlite":
        yield "NOCASE"
        return
    run("CREATE COLLATION nocase_scores (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
    yield "nocase_scores"
    run("DROP COLLATION nocase_scores")


def test_a_key_in_other_letters_has_neither_score_nor_rank(nocase: str, tables: Create, declare: Declare) -> None:
    class Word(Sample):
        code = models.CharField(max_length=20, primary_key=True, db_collation=nocase)
        number = models.IntegerField()

    tables(Word)
    Word._default_manager.create(code="Abc", number=7)
    mirror = declare(Word, fields=["number"], indexes=[Ranking("twords", score="number")])
    assert read_both(lambda: [mirror.rank("twords", pk) for pk in ("Abc", "abc")]) == [1, None]
    assert read_both(lambda: mirror.scores("twords", ["Abc", "abc"])) == {"Abc": 7}
    assert read_both(lambda: mirror.filter_members("twords", ["abc"])) == set()


def test_bounds_of_integers_dates_and_times_are_conditions_on_their_columns(scored: type[Mirror]) -> None:
    for name in ("number", "small", "day", "moment", "price"):
        with sql_only(), CaptureQueriesContext(connection) as queries:
            scored.count(f"tby:{name}", low=1, high=2.5)
            scored.counts(f"tby:{name}", [0])
        assert len(queries) == 2
        for query in queries:
            _, condition = query["sql"].split(" WHERE ")
            assert "CAST" not in condition, query["sql"]
            assert "::double" not in condition, query["sql"]


def test_a_negative_zero_is_no_difference(tables: Create, declare: Declare) -> None:
    class Measured(Sample):
        ratio = models.FloatField()

    tables(Measured)
    row = Measured._default_manager.create(ratio=0.0)
    mirror = declare(Measured, fields=["ratio"], indexes=[Ranking("tratio", score="ratio")])
    Measured._default_manager.filter(pk=row.pk).update(ratio=-0.0)
    drained()
    assert list(runs.verify([mirror.name])) == []
    assert str(mirror.score("tratio", row.pk)) == "0.0"
    described = {STRUCTURES["zset"].describe(Scored("z", "1", zero))[-1] for zero in (0, 0.0, -0.0)}
    assert described == {"0.0"}
    assert str(read_score("-0.00")) == str(read_score(-0.0)) == "0.0"


@pytest.mark.parametrize("kind", UNLIKE_TEXTS)
def test_names_of_columns_with_other_texts_in_sql_are_refused(kind: Any) -> None:
    options = {"max_digits": 6, "decimal_places": 2} if kind is models.DecimalField else {}

    class Named(Sample):
        value = kind(**options)

    reason = refuse(Named, fields=["value"], indexes=[Alphabetical("tnames", by="value")])
    assert "SQL cannot order by the text of 'value'; name a column of text" in reason


def test_names_of_numbers_of_related_rows_are_refused() -> None:
    reason = refuse(Group, fields=[Count("items")], indexes=[Alphabetical("tnames", by="items_count")])
    assert "SQL cannot order by the text of 'items_count'" in reason


def test_ids_of_the_database_are_read_in_the_order_of_their_index() -> None:
    assert build_order("id", models.BigAutoField(primary_key=True)) == models.F("id")
    assert build_order("id", models.BigIntegerField(primary_key=True)) != models.F("id")
