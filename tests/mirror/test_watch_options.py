"""The options ``only``, ``inserts`` and ``whole`` of a watch: the outbox has the wanted changes and no others."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from django.db import connection, models, transaction
from django.db.models import F
from django.test.utils import isolate_apps

from mirror import Mirror, Watch, register, registry
from mirror.capture import install
from mirror.capture.plan import Definition, own_tables
from mirror.outbox.changes import WHOLE
from tests.projects.mirrortest.models import Follow, Group, Item, Label
from tests.support.mirror.outbox import changes, orders, run

ITEM = Item._meta.db_table
Watching = Callable[..., None]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_registry"), pytest.mark.also_on("sqlite")]


def find_triggers() -> list[Definition]:
    """Return the triggers of watched tables. On PostgreSQL the tables of the mirror have some too."""
    found = install.capture_for(connection.alias).found().values()
    return [definition for definition in found if definition.table not in own_tables()]


def nobody(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    return []


@pytest.fixture
def watching() -> Watching:
    """Return a function that leaves one registered mirror, with the given watches."""

    def declare(*wanted: Watch) -> None:
        class Alone(Mirror):
            name = "alone"
            model = Item
            watches = wanted

            def record_key(self, pk: str) -> str:
                return f"alone:{pk}"

            def load(self, pks: Sequence[str]) -> Mapping[str, Any]:
                return {}

            def record(self, row: Any) -> dict[str, Any]:
                return {}

        registry._mirrors.clear()
        register(Alone)
        install.install()
        changes()

    return declare


def keys() -> list[str]:
    """Return the keys of all changes, sorted, and empty the outbox."""
    return sorted(key for _, _, key in changes())


def make(*names: str) -> list[Item]:
    items = Item.objects.bulk_create([Item(name=name) for name in names])
    changes()
    return items


def pks(*items: Item) -> list[str]:
    return sorted(str(item.pk) for item in items)


class TestOnly:
    """``only``: an UPDATE counts if it modifies one of these columns."""

    def test_inserts_and_deletes_are_changes(self, watching: Watching) -> None:
        watching(Watch(Item, only=("score",)))
        items = Item.objects.bulk_create([Item(name="a"), Item(name="b")])
        said = pks(*items)
        assert keys() == said
        Item.objects.all().delete()
        assert keys() == said

    def test_update_of_other_columns_is_no_change(self, watching: Watching) -> None:
        watching(Watch(Item, only=("score", "hidden")))
        [item] = make("a")
        item.name = "b"
        item.save()
        Item.objects.update(name="c")
        run(f"UPDATE {ITEM} SET name = 'd', score = score")
        assert keys() == []

    def test_update_appends_only_rows_whose_columns_differ(self, watching: Watching) -> None:
        watching(Watch(Item, only=("score", "hidden")))
        a, b, c = make("a", "b", "c")
        Item.objects.filter(name="a").update(score=5)
        assert keys() == pks(a)
        Item.objects.update(score=5)
        assert keys() == pks(b, c)
        b.hidden = True
        c.name = "other"
        Item.objects.bulk_update([a, b, c], ["hidden", "name"])
        assert keys() == pks(b)
        run(f"UPDATE {ITEM} SET hidden = NOT hidden")
        assert keys() == pks(a, b, c)

    def test_null_differs_from_every_value_but_null(self, watching: Watching) -> None:
        watching(Watch(Item, only=("group_id",)))
        group, [item] = Group.objects.create(name="g"), make("a")
        for where, said in ((None, []), (group, pks(item)), (group, []), (None, pks(item))):
            Item.objects.update(group=where)
            assert keys() == said, where

    def test_changed_letter_case_is_a_change(self, watching: Watching) -> None:
        watching(Watch(Item, only=("name",)))
        [item] = make("abc")
        Item.objects.update(name="ABC")
        assert keys() == pks(item)

    def test_changed_primary_key_is_a_change_of_both_keys(self, watching: Watching) -> None:
        watching(Watch(Item, only=("score",)))
        [item] = make("a")
        Item.objects.update(id=F("id") + 1000)
        assert keys() == sorted([str(item.pk), str(item.pk + 1000)])

    def test_changed_primary_key_is_a_change_of_a_key_from_other_columns(self, watching: Watching) -> None:
        watching(Watch(Item, "group_id", only=("score",)))
        group = Group.objects.create(name="g")
        make("a")
        Item.objects.update(group=group)
        assert keys() == [str(group.pk)]
        Item.objects.update(id=F("id") + 1000)
        assert set(keys()) == {str(group.pk)}

    def test_changed_key_is_a_change_of_both_keys_except_null(self, watching: Watching) -> None:
        watching(Watch(Item, "group_id", only=("score",)))
        old, new = Group.objects.create(name="old"), Group.objects.create(name="new")
        make("a")
        for where, said in ((old, [old]), (new, [new, old]), (None, [new])):
            Item.objects.update(group=where)
            assert keys() == sorted(str(group.pk) for group in said)
        Item.objects.update(score=7)
        assert keys() == []

    def test_update_that_moves_one_row_leaves_the_other_out(self, watching: Watching) -> None:
        watching(Watch(Follow, ("follower", "followed"), only=("id",)))
        Follow.objects.bulk_create([Follow(follower=1, followed=2), Follow(follower=3, followed=4)])
        keys()
        Follow.objects.update(followed=models.Case(models.When(follower=1, then=9), default=F("followed")))
        assert keys() == ["1:2", "1:9"]

    def test_rolled_back_update_is_no_change(self, watching: Watching) -> None:
        watching(Watch(Item, only=("score",)))
        make("a")
        with transaction.atomic():
            Item.objects.update(score=5)
            transaction.set_rollback(True)
        assert keys() == []

    def test_upsert_without_a_difference_is_no_change(self, watching: Watching) -> None:
        watching(Watch(Item, only=("score",)))
        [item] = make("a")
        for score, said in ((0, []), (1, pks(item))):
            rows = [Item(name="a", score=score)]
            Item.objects.bulk_create(rows, update_conflicts=True, unique_fields=["name"], update_fields=["score"])
            assert keys() == said

    @pytest.mark.only_on("postgres")
    @pytest.mark.django_db(transaction=True)
    def test_truncate_is_a_change_of_everything(self, watching: Watching) -> None:
        watching(Watch(Item, only=("score",)))
        make("a")
        run(f"TRUNCATE {ITEM} CASCADE")
        assert keys() == [WHOLE]

    @pytest.mark.only_on("sqlite")
    def test_columns_are_compared_bytewise_whatever_their_collation(self, watching: Watching) -> None:
        with isolate_apps("tests.projects.mirrortest"):

            class Nocase(models.Model):  # noqa: DJ008
                name = models.CharField(max_length=10, db_collation="NOCASE")

                class Meta:
                    app_label = "mirrortest"

        run("CREATE TABLE mirrortest_nocase (id integer, name text COLLATE NOCASE)")
        watching(Watch(Nocase, only=("name",)))
        run("INSERT INTO mirrortest_nocase VALUES (1, 'a')")
        keys()
        run("UPDATE mirrortest_nocase SET name = 'a'")
        assert keys() == []
        run("UPDATE mirrortest_nocase SET name = 'A'")
        assert keys() == ["1"]


class TestInserts:
    """``inserts``: without them, updates and deletes are changes."""

    def test_updates_and_deletes_are_changes(self, watching: Watching) -> None:
        watching(Watch(Label, via=nobody, inserts=False))
        label = Label.objects.create(name="a")
        Label.objects.bulk_create([Label(name="b")])
        assert keys() == []
        Label.objects.filter(pk=label.pk).update(name="c")
        assert keys() == [str(label.pk)]
        Label.objects.filter(pk=label.pk).delete()
        assert keys() == [str(label.pk)]

    def test_it_can_be_combined_with_only(self, watching: Watching) -> None:
        watching(Watch(Item, via=nobody, inserts=False, only=("score",)))
        [item] = make("a")
        Item.objects.update(name="b")
        assert keys() == []
        Item.objects.update(score=1)
        assert keys() == pks(item)

    @pytest.mark.only_on("postgres")
    @pytest.mark.django_db(transaction=True)
    def test_truncate_is_a_change(self, watching: Watching) -> None:
        watching(Watch(Item, via=nobody, inserts=False))
        make("a")
        run(f"TRUNCATE {ITEM} CASCADE")
        assert keys() == [WHOLE]

    def test_no_insert_trigger_is_installed(self, watching: Watching, postgres: bool) -> None:
        watching(Watch(Label, via=nobody, inserts=False))
        operations = {"update", "delete"} | ({"truncate", "row"} if postgres else set())
        assert {found.name for found in find_triggers()} == {f"mirror_{Label._meta.db_table}_{o}" for o in operations}


class TestWhole:
    """``whole``: the key is always ""."""

    def test_every_operation_appends_the_empty_key(self, watching: Watching) -> None:
        watching(Watch(Item, whole=True))
        item = Item.objects.create(name="a")
        assert keys() == [""]
        Item.objects.update(name="b")
        assert keys() == [""]
        item.delete()
        assert keys() == [""]

    def test_statement_triggers_append_one_change_per_statement(self, watching: Watching, postgres: bool) -> None:
        watching(Watch(Item, whole=True))
        expected = [""] * (1 if postgres else 3)
        Item.objects.bulk_create([Item(name=name) for name in "abc"])
        assert keys() == expected
        Item.objects.update(score=1)
        assert keys() == expected
        run(f"DELETE FROM {ITEM}")
        assert keys() == expected

    def test_statement_without_rows_is_no_change(self, watching: Watching) -> None:
        watching(Watch(Item, whole=True))
        run(
            f"INSERT INTO {ITEM} (name, score, hidden) SELECT name, score, hidden FROM {ITEM}",
            f"UPDATE {ITEM} SET score = 1",
            f"DELETE FROM {ITEM}",
        )
        assert keys() == []

    def test_only_counts_if_any_row_differs(self, watching: Watching) -> None:
        watching(Watch(Item, whole=True, only=("score",)))
        make("a", "b", "c")
        Item.objects.update(name=F("id"))
        assert keys() == []
        Item.objects.update(score=models.Case(models.When(name="nobody", then=1), default=F("score")))
        assert keys() == []
        Item.objects.filter(pk=Item.objects.earliest("pk").pk).update(score=1)
        assert keys() == [""]
        Item.objects.filter(score=1).update(id=F("id") + 1000)
        assert keys() == [""]

    def test_inserts_can_be_left_out(self, watching: Watching) -> None:
        watching(Watch(Item, whole=True, inserts=False))
        make("a")
        Item.objects.update(score=1)
        assert keys() == [""]
        Item.objects.all().delete()
        assert keys() == [""]

    @pytest.mark.only_on("postgres")
    @pytest.mark.django_db(transaction=True)
    def test_truncate_is_a_change_of_the_whole_mirror(self, watching: Watching) -> None:
        watching(Watch(Item, whole=True))
        run(f"TRUNCATE {ITEM} CASCADE")
        assert keys() == [WHOLE]


def test_pushed_rows_name_their_table_as_the_source(watching: Watching) -> None:
    watching(Watch(Item, ("id", "score"), pushed=True, only=("hidden",)))
    item = Item.objects.create(name="a", score=3)
    assert changes() == [("alone", ITEM, f"{item.pk}:3")]
    Item.objects.update(name="b")
    assert changes() == []
    Item.objects.update(hidden=True)
    assert changes() == [("alone", ITEM, f"{item.pk}:3")]


@pytest.mark.parametrize(
    "other",
    [
        Watch(Item),
        Watch(Item, only=("score", "name")),
        Watch(Item, only=("score",), whole=True),
        Watch(Item, ("id", "score"), only=("score",), pushed=True),
    ],
    ids=["everything", "more", "whole", "pushed"],
)
def test_wider_watch_replaces_the_triggers_and_orders_a_rebuild(watching: Watching, other: Watch) -> None:
    watching(Watch(Item, only=("score",)))
    registry.get("alone").watches = [other]  # type: ignore[misc]
    faults = install.missing()
    assert "out of date" in {fault.problem for fault in faults}
    install.install()
    assert orders() == ["alone"]
    assert install.missing() == []
    install.install()
    assert orders() == ["alone"]


def test_narrower_watch_orders_no_rebuild(watching: Watching) -> None:
    watching(Watch(Item, only=("score",)))
    registry.get("alone").watches = [Watch(Item, only=("score",), inserts=False)]  # type: ignore[misc]
    assert {fault.problem for fault in install.missing()} == {"left over"}
    assert install.install() == []
    make("a")
    assert (install.missing(), keys()) == ([], [])


def test_missing_column_is_left_to_the_next_migrate(watching: Watching) -> None:
    with isolate_apps("tests.projects.mirrortest"):

        class Later(models.Model):  # noqa: DJ008
            something = models.IntegerField()

            class Meta:
                app_label = "mirrortest"

    run("CREATE TABLE mirrortest_later (id integer)")
    watching(Watch(Later, only=("something",)))
    assert find_triggers() == []
    run("ALTER TABLE mirrortest_later ADD COLUMN something integer")
    assert install.install() == ["alone"]


@pytest.mark.only_on("postgres")
def test_columns_without_an_equality_operator_are_compared(watching: Watching) -> None:
    with isolate_apps("tests.projects.mirrortest"):

        class Plain(models.Model):  # noqa: DJ008
            value = models.TextField()

            class Meta:
                app_label = "mirrortest"

    run("CREATE TABLE mirrortest_plain (id integer, value json)")
    watching(Watch(Plain, only=("value",)))
    run("INSERT INTO mirrortest_plain VALUES (1, '{}'), (2, '{}')")
    keys()
    run("UPDATE mirrortest_plain SET value = CASE id WHEN 1 THEN '[]' ELSE '{}' END::json")
    assert keys() == ["1"]


def test_only_the_triggers_of_the_test_are_installed(watching: Watching) -> None:
    watching(Watch(Item, only=("score",)))
    assert {found.table for found in find_triggers()} == {ITEM}
