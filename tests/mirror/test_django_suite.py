"""The comparison that ``make matrix`` makes after each of Django's own tests finds what differs."""

from collections.abc import Iterator

import pytest
from django.apps import apps
from django.db import connection
from redis import Redis

from mirror import registry
from mirror.capture import install
from mirror.metrics import counted
from mirror.relay import signals
from tests.django_suite.comparison import Comparison
from tests.django_suite.declarations import Refused, declare_all
from tests.projects.mirrortest.models import Item, Label

pytestmark = [
    pytest.mark.usefixtures("committed", "own_registry"),
    pytest.mark.only_on("single"),  # the suite has a server of its own
]


@pytest.fixture
def refused() -> list[Refused]:
    """Leave the mirrors of all models alone in the registry. Return what was refused."""
    registry._mirrors.clear()
    found = declare_all([apps.get_app_config("mirrortest")])
    signals.connect()
    install.install()
    return found


@pytest.fixture
def comparison(refused: list[Refused]) -> Iterator[Comparison]:
    made = Comparison()
    made.prepare("")
    yield made
    counted.disconnect(made._note_fallback)


def test_each_model_has_a_mirror_of_columns_and_one_of_relations(refused: list[Refused]) -> None:
    mirrors = {mirror.name: mirror for mirror in registry.all_mirrors()}
    assert mirrors["columns.mirrortest.item"].fields == ["id", "name", "score", "hidden", "group_id"]
    relations = [field.record_name for field in mirrors["relations.mirrortest.item"].fields]
    assert relations == ["group__id", "group__name", "labels_keys", "labels_count"]


def test_refused_parts_are_listed_with_their_reasons(refused: list[Refused]) -> None:
    reasons = {(model, part): reason for model, part, reason, _ in refused}
    assert "JSON" in reasons["mirrortest.Kinds", "columns: set over facts"]
    assert all(one.is_handled for one in refused)


def test_writes_of_all_kinds_leave_no_difference(comparison: Comparison) -> None:
    item = Item.objects.create(name="a")
    item.labels.add(Label.objects.create(name="red"))
    Item.objects.bulk_create([Item(name="b"), Item(name="c")])
    Item.objects.update(score=3)
    Item.objects.filter(name="b").delete()
    comparison.compare("a test")
    assert comparison.differences == []
    assert comparison.changes > 0


def test_wrong_records_are_found_by_keys_and_by_readers(comparison: Comparison, redis: Redis) -> None:
    item = Item.objects.create(name="a")
    comparison.compare("a test")
    redis.set(registry.get("columns.mirrortest.item").record_key(str(item.pk)), '{"id":0}')
    redis.sadd("index:mirrortest.item:all", "77")
    comparison.compare("another test")
    texts = "\n".join(comparison.differences)
    assert f"another test: columns.mirrortest.item {item.pk}: stale" in texts
    assert "columns.mirrortest.item 77: stray" in texts
    assert "another test: columns.mirrortest.item.get_many: SQL answers" in texts
    assert "columns.mirrortest.item.members index:mirrortest.item:all: SQL answers" in texts


def test_missed_changes_are_found(comparison: Comparison) -> None:
    capture = install.capture_for()
    for definition in capture.found().values():
        if definition.name.startswith("mirror_mirrortest_item_insert"):
            capture.run(capture.drop(definition))
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO mirrortest_item (name, score, hidden) VALUES ('a', 0, FALSE)")
    comparison.compare("a test")
    assert any("missing" in text for text in comparison.differences)


def test_reader_that_sql_answers_is_a_difference(comparison: Comparison, redis: Redis) -> None:
    Item.objects.create(name="a")
    redis.delete(*redis.keys("*{warm}:columns*"))
    comparison.compare("a test")
    assert any("SQL answered in place of Redis (cold)" in text for text in comparison.differences)
