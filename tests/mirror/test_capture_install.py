"""Triggers that are missing or not as declared are noticed and put right, and what was missed is rebuilt."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, models
from django.db.migrations import Migration
from django.test.utils import CaptureQueriesContext, isolate_apps

from mirror import Mirror, Watch, capture, register, registry
from mirror.capture_plan import LONGEST_NAME, trigger_name
from mirror.capture_postgres import PostgresCapture
from mirror.models import Change
from tests.support.mirror.app.models import Follow, Group, Item
from tests.support.mirror.outbox import orders, run

ITEM = Item._meta.db_table
OURS = ["titem", "tgroup", "latest"]  # what watches the table of items, in the order of registration

pytestmark = pytest.mark.usefixtures("own_registry")


class Plain(Mirror):
    """What the mirrors below have in common."""

    model = Follow

    def key(self, pk: str) -> str:
        return f"plain:{self.name}:{pk}"

    def load(self, pks: Sequence[str]) -> Mapping[str, Any]:
        return {}

    def record(self, row: Any) -> dict[str, Any]:
        return {}


def drop(table: str, operation: str) -> None:
    on = f" ON {table}" if connection.vendor == "postgresql" else ""
    run(f"DROP TRIGGER mirror_{table}_{operation}{on}")


def problems() -> list[str]:
    return [str(fault) for fault in capture.missing()]


@pytest.mark.django_db
def test_after_the_first_migrate_nothing_is_missing() -> None:
    assert capture.missing() == []
    assert capture.install() == []
    assert orders() == []


@pytest.mark.django_db
def test_a_dropped_trigger_is_noticed_and_put_back_and_its_mirrors_are_rebuilt() -> None:
    drop(ITEM, "update")
    [fault] = capture.missing()
    assert (str(fault), fault.mirrors) == (f"missing: update on {ITEM}", tuple(sorted(OURS)))
    assert capture.install() == OURS
    assert orders() == OURS
    assert capture.missing() == []
    Change.objects.all().delete()
    Item.objects.create(name="x")
    assert Change.objects.count() == 2


@pytest.mark.django_db
def test_a_trigger_that_was_altered_is_noticed_and_put_right(postgres: bool) -> None:
    found = capture.capture_for().found()[f"mirror_{ITEM}_insert"]
    lame = "\n".join(line for line in found.body.split("\n") if "titem" not in line)
    drop(ITEM, "insert")
    run(*capture.capture_for().create(found._replace(body=lame)))
    assert problems() == [f"out of date: insert on {ITEM}"]
    assert capture.install() == ["titem"]  # the others' lines were there all along
    assert capture.missing() == []


@pytest.mark.on_postgres
@pytest.mark.django_db
@pytest.mark.parametrize(
    "how",
    [
        f"ALTER TABLE {ITEM} DISABLE TRIGGER mirror_{ITEM}_delete",
        f"ALTER TABLE {ITEM} ENABLE REPLICA TRIGGER mirror_{ITEM}_delete",
        f"ALTER FUNCTION mirror_{ITEM}_delete() RESET search_path",
    ],
)
def test_a_trigger_that_is_there_but_does_not_work_as_made_is_out_of_date(how: str) -> None:
    run(how)
    assert problems() == [f"out of date: delete on {ITEM}"]
    assert capture.install() == OURS
    assert capture.missing() == []


@pytest.mark.django_db
def test_installing_again_changes_nothing() -> None:
    with CaptureQueriesContext(connection) as queries:
        assert capture.install() == []
    words = {query["sql"].split()[0] for query in queries}
    assert words.isdisjoint({"CREATE", "DROP", "INSERT", "ALTER"})


@pytest.mark.django_db
def test_a_new_mirror_is_rebuilt_and_those_that_watch_the_same_table_are_not() -> None:
    @register
    class Another(Plain):
        name = "another"
        watches = [Watch(Follow), Watch(Follow, "follower"), Watch(Follow, ("id",))]

    assert {fault.problem for fault in capture.missing()} == {"out of date"}
    assert capture.install() == ["another"]
    Change.objects.all().delete()
    follow = Follow.objects.create(follower=70, followed=80)
    said = set(Change.objects.values_list("mirror", "key"))
    assert said == {("tfollow", "70:80"), ("another", str(follow.pk)), ("another", "70")}
    assert Change.objects.count() == 3  # what is watched twice is said once


@pytest.mark.django_db
def test_the_triggers_of_a_mirror_that_is_no_longer_registered_are_dropped() -> None:
    registry.unregister("tfollow")
    assert {fault.problem for fault in capture.missing()} == {"left over"}
    assert capture.install() == []
    Follow.objects.create(follower=1, followed=2)
    assert not Change.objects.exists()
    assert not [name for name in capture.capture_for().found() if Follow._meta.db_table in name]


@pytest.mark.on_postgres
@pytest.mark.django_db
def test_what_a_dropped_table_leaves_behind_is_tidied_away() -> None:
    run(f"DROP TABLE {Follow._meta.db_table}")
    assert set(problems()) == {f"left over: {op} on a table that is gone" for op in PostgresCapture.operations}
    assert capture.install() == []
    assert capture.missing() == []


@pytest.mark.django_db
def test_without_triggers_nothing_is_captured_and_other_peoples_triggers_stay() -> None:
    if connection.vendor == "sqlite":
        run(f"CREATE TRIGGER mirror_of_mine AFTER INSERT ON {ITEM} BEGIN SELECT 1; END")
        ask = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
    else:
        run(
            "CREATE FUNCTION mirror_of_mine() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
            f"CREATE TRIGGER mirror_of_mine AFTER INSERT ON {ITEM} EXECUTE FUNCTION mirror_of_mine()",
        )
        ask = "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"
    capture.uninstall()
    Item.objects.create(name="unseen")
    assert not Change.objects.exists()
    with connection.cursor() as cursor:
        cursor.execute(ask)
        assert cursor.fetchall() == [("mirror_of_mine",)]


@pytest.mark.django_db
def test_a_table_that_is_not_there_yet_waits_for_the_next_migrate() -> None:
    with isolate_apps("tests.support.mirror.app"):

        class Later(models.Model):  # noqa: DJ008
            class Meta:
                app_label = "mirrortest"

        @register
        class LaterMirror(Plain):
            name = "later"
            watches = [Watch(Later)]

    assert capture.missing() == []
    run("CREATE TABLE mirrortest_later (something integer)")
    assert capture.missing() == []  # the column is not there yet
    run("ALTER TABLE mirrortest_later ADD COLUMN id integer")
    assert capture.install() == ["later"]
    run("INSERT INTO mirrortest_later (id) VALUES (5)")
    assert list(Change.objects.exclude(key="*").values_list("mirror", "key")) == [("later", "5")]


@pytest.mark.django_db
def test_a_watch_on_a_column_that_the_model_does_not_have_is_refused_before_anything_is_done() -> None:
    @register
    class Wrong(Plain):
        name = "wrong"
        watches = [Watch(Follow, "nonsense")]

    with pytest.raises(ImproperlyConfigured, match=r"'wrong' watches mirrortest_follow\.nonsense"):
        capture.install()
    Follow.objects.create(follower=1, followed=2)


@pytest.mark.on_sqlite
@pytest.mark.django_db
def test_a_key_that_differs_only_by_its_columns_collation_is_another_key() -> None:
    with isolate_apps("tests.support.mirror.app"):

        class Nocase(models.Model):  # noqa: DJ008
            name = models.CharField(max_length=10, db_collation="NOCASE")

            class Meta:
                app_label = "mirrortest"

        @register
        class NocaseMirror(Plain):
            name = "nocase"
            watches = [Watch(Nocase, "name")]

    run("CREATE TABLE mirrortest_nocase (id integer, name text COLLATE NOCASE)")
    capture.install()
    run("INSERT INTO mirrortest_nocase VALUES (1, 'a')", "UPDATE mirrortest_nocase SET name = 'A'")
    said = Change.objects.filter(mirror="nocase").exclude(key="*")
    assert sorted(said.values_list("key", flat=True)) == ["A", "a", "a"]


def test_names_too_long_for_a_trigger_are_cut_and_stay_different() -> None:
    names = {trigger_name(f"{'表' * 20}{i}", "truncate") for i in range(10)}
    assert len(names) == 10
    assert max(len(name.encode()) for name in names) <= LONGEST_NAME
    assert trigger_name("book", "insert") == "mirror_book_insert"


def test_other_databases_than_the_mirrored_one_are_left_alone() -> None:
    capture._after(using="another")
    capture._before(using="another", plan=[(Migration("0001", "mirror"), False)])


def test_an_unknown_kind_of_database_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "vendor", "oracle")
    with pytest.raises(ImproperlyConfigured, match="SQLite and PostgreSQL"):
        capture.install()


@pytest.mark.django_db
def test_rows_of_a_group_that_were_missed_are_named_by_the_order_alone() -> None:
    """An order to rebuild stands in the same transaction as the trigger: neither is there without the other."""
    drop(Group._meta.db_table, "insert")
    Group.objects.create(name="missed")
    assert not Change.objects.exists()
    capture.install()
    assert orders() == ["titem", "tgroup"]
