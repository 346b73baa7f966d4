"""Missing and outdated triggers are found and repaired, and the mirrors that missed changes are rebuilt."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, models
from django.db.migrations import Migration
from django.test.utils import CaptureQueriesContext, isolate_apps

from mirror import Mirror, Watch, register, registry
from mirror.capture import install
from mirror.capture.plan import LONGEST_NAME, trigger_name
from mirror.capture.postgres import TYPES
from mirror.checks import check_triggers
from mirror.models import Change
from mirror.outbox.changes import WHOLE
from tests.projects.mirrortest.models import Follow, Group, Item
from tests.support.mirror.outbox import orders, run

ITEM = Item._meta.db_table
OURS = ["titem", "tgroup", "latest"]  # the mirrors that watch the table of items, in the order of registration

pytestmark = [pytest.mark.usefixtures("own_registry"), pytest.mark.also_on("sqlite")]


class Plain(Mirror):
    """The common part of the mirrors below."""

    model = Follow

    def record_key(self, pk: str) -> str:
        return f"plain:{self.name}:{pk}"

    def load(self, pks: Sequence[str]) -> Mapping[str, Any]:
        return {}

    def record(self, row: Any) -> dict[str, Any]:
        return {}


def drop(table: str, operation: str) -> None:
    on = f" ON {table}" if connection.vendor == "postgresql" else ""
    run(f"DROP TRIGGER mirror_{table}_{operation}{on}")


def problems() -> list[str]:
    return [str(fault) for fault in install.missing()]


@pytest.mark.django_db
def test_no_trigger_is_missing_after_the_first_migrate() -> None:
    assert install.missing() == []
    assert install.install() == []
    assert orders() == []


@pytest.mark.django_db
def test_dropped_trigger_is_reinstalled_and_its_mirrors_are_rebuilt() -> None:
    drop(ITEM, "update")
    [fault] = install.missing()
    assert (str(fault), fault.mirrors) == (f"missing: update on {ITEM}", tuple(sorted(OURS)))
    assert install.install() == OURS
    assert orders() == OURS
    assert install.missing() == []
    Change.objects.all().delete()
    Item.objects.create(name="x")
    assert Change.objects.count() == 2


@pytest.mark.django_db
def test_altered_trigger_is_found_and_repaired(postgres: bool) -> None:
    found = install.capture_for().found()[f"mirror_{ITEM}_insert"]
    nothing = ["SELECT '', '', '' WHERE FALSE"]  # on PostgreSQL the line is a part of a statement
    lines = [nothing if line.startswith("SELECT 'titem'") else [line] for line in found.body.split("\n")]
    lame = "\n".join(line for (line,) in lines if "titem" not in line)
    drop(ITEM, "insert")
    run(*install.capture_for().create(found._replace(body=lame)))
    assert problems() == [f"out of date: insert on {ITEM}"]
    assert install.install() == ["titem"]  # the lines of the other mirrors were in place all the time
    assert install.missing() == []


@pytest.mark.only_on("postgres")
@pytest.mark.django_db
@pytest.mark.parametrize(
    "how",
    [
        f"ALTER TABLE {ITEM} DISABLE TRIGGER mirror_{ITEM}_delete",
        f"ALTER TABLE {ITEM} ENABLE REPLICA TRIGGER mirror_{ITEM}_delete",
        f"ALTER FUNCTION mirror_{ITEM}_delete() RESET search_path",
    ],
)
def test_disabled_or_reconfigured_trigger_is_out_of_date(how: str) -> None:
    run(how)
    assert problems() == [f"out of date: delete on {ITEM}"]
    assert install.install() == OURS
    assert install.missing() == []


@pytest.mark.django_db
def test_second_install_changes_nothing() -> None:
    with CaptureQueriesContext(connection) as queries:
        assert install.install() == []
    words = {query["sql"].split()[0] for query in queries}
    assert words.isdisjoint({"CREATE", "DROP", "INSERT", "ALTER"})


@pytest.mark.django_db
def test_new_mirror_is_rebuilt_without_the_others_on_its_table() -> None:
    @register
    class Another(Plain):
        name = "another"
        watches = [Watch(Follow), Watch(Follow, "follower"), Watch(Follow, ("id",))]

    assert {fault.problem for fault in install.missing()} == {"out of date"}
    assert install.install() == ["another"]
    Change.objects.all().delete()
    follow = Follow.objects.create(follower=70, followed=80)
    said = set(Change.objects.values_list("mirror", "key"))
    assert said == {("tfollow", "70:80"), ("another", str(follow.pk)), ("another", "70")}
    assert Change.objects.count() == 3  # a key that is watched twice gives one change


@pytest.mark.only_on("postgres")
@pytest.mark.usefixtures("committed")
def test_changed_declaration_does_not_wait_for_readers() -> None:
    reader = connection.copy()
    try:
        reader.set_autocommit(False)
        with reader.cursor() as cursor:
            cursor.execute(f"SELECT 1 FROM {ITEM}")
        register(type("New", (Plain,), {"name": "new", "watches": [Watch(Item)]}))
        run("SET lock_timeout = '100ms'")
        assert install.install() == ["new"]
        assert install.missing() == []
    finally:
        reader.close()
        run("RESET lock_timeout")


@pytest.mark.django_db
def test_triggers_of_an_unregistered_mirror_are_dropped() -> None:
    registry.unregister("tfollow")
    assert {fault.problem for fault in install.missing()} == {"left over"}
    assert install.install() == []
    Follow.objects.create(follower=1, followed=2)
    assert not Change.objects.exists()
    assert not [name for name in install.capture_for().found() if Follow._meta.db_table in name]


@pytest.mark.only_on("postgres")
@pytest.mark.django_db
def test_functions_of_a_dropped_table_are_removed() -> None:
    run(f"DROP TABLE {Follow._meta.db_table}")
    left_over = {f"left over: {operation} on a table that is gone" for operation in TYPES}
    assert set(problems()) == {f"{Follow._meta.db_table}: no such table", *left_over}
    assert install.install() == []
    assert problems() == [f"{Follow._meta.db_table}: no such table"]


@pytest.mark.django_db
def test_uninstall_stops_capture_and_keeps_foreign_triggers() -> None:
    if connection.vendor == "sqlite":
        run(f"CREATE TRIGGER mirror_of_mine AFTER INSERT ON {ITEM} BEGIN SELECT 1; END")
        ask = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
    else:
        run(
            "CREATE FUNCTION mirror_of_mine() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
            f"CREATE TRIGGER mirror_of_mine AFTER INSERT ON {ITEM} EXECUTE FUNCTION mirror_of_mine()",
        )
        ask = "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"
    install.uninstall()
    Item.objects.create(name="unseen")
    assert not Change.objects.exists()
    with connection.cursor() as cursor:
        cursor.execute(ask)
        assert cursor.fetchall() == [("mirror_of_mine",)]


@pytest.mark.django_db
def test_missing_table_is_left_to_the_next_migrate() -> None:
    with isolate_apps("tests.projects.mirrortest"):

        class Later(models.Model):  # noqa: DJ008
            class Meta:
                app_label = "mirrortest"

        @register
        class LaterMirror(Plain):
            name = "later"
            watches = [Watch(Later)]

        @register
        class LaterSummary(Plain):
            name = "later_summary"
            watches = [Watch(Later, whole=True)]

    [fault] = install.missing()
    assert (str(fault), fault.mirrors) == ("mirrortest_later: no such table", ("later", "later_summary"))
    registry.unregister("later_summary")
    run("CREATE TABLE mirrortest_later (something integer)")
    assert problems() == ["mirrortest_later: no column 'id'"]
    run("ALTER TABLE mirrortest_later ADD COLUMN id integer")
    assert install.install() == ["later"]
    run("INSERT INTO mirrortest_later (id) VALUES (5)")
    assert list(Change.objects.exclude(key=WHOLE).values_list("mirror", "key")) == [("later", "5")]


@pytest.mark.django_db
def test_table_that_migrate_does_not_create_is_named() -> None:
    with isolate_apps("tests.projects.mirrortest"):

        class Legacy(models.Model):  # noqa: DJ008
            class Meta:
                app_label = "mirrortest"
                managed = False

    register(type("LegacyMirror", (Plain,), {"name": "legacy", "watches": [Watch(Legacy)]}))
    [message] = check_triggers(databases=["default"])
    assert "Create mirrortest_legacy first, because migrate creates no table with managed = False." in str(message.hint)
    run("CREATE TABLE mirrortest_legacy (id integer)")
    [message] = check_triggers(databases=["default"])
    assert "first" not in str(message.hint)


@pytest.mark.django_db
def test_watch_on_an_unknown_column_is_refused_before_any_change() -> None:
    @register
    class Wrong(Plain):
        name = "wrong"
        watches = [Watch(Follow, "nonsense")]

    with pytest.raises(ImproperlyConfigured, match=r"'wrong' watches mirrortest_follow\.nonsense"):
        install.install()
    Follow.objects.create(follower=1, followed=2)


@pytest.mark.only_on("sqlite")
@pytest.mark.django_db
def test_keys_that_are_equal_only_by_collation_are_different_keys() -> None:
    with isolate_apps("tests.projects.mirrortest"):

        class Nocase(models.Model):  # noqa: DJ008
            name = models.CharField(max_length=10, db_collation="NOCASE")

            class Meta:
                app_label = "mirrortest"

        @register
        class NocaseMirror(Plain):
            name = "nocase"
            watches = [Watch(Nocase, "name")]

    run("CREATE TABLE mirrortest_nocase (id integer, name text COLLATE NOCASE)")
    install.install()
    run("INSERT INTO mirrortest_nocase VALUES (1, 'a')", "UPDATE mirrortest_nocase SET name = 'A'")
    said = Change.objects.filter(mirror="nocase").exclude(key=WHOLE)
    assert sorted(said.values_list("key", flat=True)) == ["A", "a", "a"]


def test_long_trigger_names_are_cut_and_stay_unique() -> None:
    names = {trigger_name(f"{'表' * 20}{i}", "truncate") for i in range(10)}
    assert len(names) == 10
    assert max(len(name.encode()) for name in names) <= LONGEST_NAME
    assert trigger_name("book", "insert") == "mirror_book_insert"


def test_other_databases_are_left_alone() -> None:
    install._after_migrations(using="another")
    install._before_migrations(using="another", plan=[(Migration("0001", "mirror"), False)])


def test_unsupported_database_vendor_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "vendor", "oracle")
    with pytest.raises(ImproperlyConfigured, match="SQLite and PostgreSQL"):
        install.install()


@pytest.mark.django_db
def test_missed_rows_are_covered_by_an_order_to_rebuild() -> None:
    """The order to rebuild is committed in the same transaction as the trigger, so neither exists without the other."""
    drop(Group._meta.db_table, "insert")
    Group.objects.create(name="missed")
    assert not Change.objects.exists()
    install.install()
    assert orders() == ["tgroup"]
