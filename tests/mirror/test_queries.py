"""A drain reads pending changes and rows in one round trip where the database allows it."""

import pytest
from django.db import connection

from mirror.models import Change
from mirror.redis.recorder import record
from mirror.utils import queries
from mirror.utils.queries import Query
from tests.projects.mirrortest.models import Item
from tests.support.mirror.items import drained, make

pytestmark = [pytest.mark.usefixtures("committed"), pytest.mark.also_on("sqlite")]

NAMES = Query("SELECT name FROM mirrortest_item WHERE score = %s ORDER BY id", [1])
NONE = Query("", [])
WRITING = Query("INSERT INTO mirrortest_item (name, score, hidden) VALUES ('new', 1, FALSE) RETURNING id", [])


def test_an_inline_save_reads_changes_and_row_in_one_statement_on_postgresql() -> None:
    item = make("one", "red")
    drained()
    item.score = 2
    with record() as seen:
        item.save()
    # The update, then the changes and the row with its list, and the mark. A summary of the table adds three.
    assert len(seen.sql) == (3 if connection.vendor == "postgresql" else 5) + 3
    assert not Change.objects.pending().exists()


@pytest.mark.parametrize("bound_by_server", [False, True])
def test_each_query_sees_the_ones_before_it(monkeypatch: pytest.MonkeyPatch, bound_by_server: bool) -> None:
    Item.objects.create(name="old", score=1)
    monkeypatch.setattr(connection.features, "uses_server_side_binding", bound_by_server, raising=False)
    with record() as seen:
        before, none, _, after = queries.fetch_all([NAMES, NONE, WRITING, NAMES], "default")
    assert [before, none, after] == [[("old",)], [], [("old",), ("new",)]]
    is_combined = connection.vendor == "postgresql" and not bound_by_server
    assert len(seen.sql) == (1 if is_combined else 3)


def test_nothing_is_executed_without_a_query() -> None:
    with record() as seen:
        assert queries.fetch_all([NONE, NONE], "default") == [[], []]
    assert seen.sql == []
