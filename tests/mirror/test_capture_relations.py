"""Tables in other schemas, partitions, views, and tables that other programs alter.

Their changes are captured, or their mirrors are cold and say why. A write never fails because of a trigger.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from django.core.checks import CheckMessage
from django.db import DatabaseError, connection, models, transaction
from django.test.utils import isolate_apps

from mirror import Mirror, Watch, checks, register, status
from mirror.capture import install
from mirror.models import Change
from mirror.outbox.changes import WHOLE
from mirror.redis.clients import relay_client
from mirror.upkeep import sweeper
from mirror.warm import marker, triggers
from tests.projects.mirrortest.models import Item
from tests.support.mirror import world
from tests.support.mirror.outbox import orders, run
from tests.support.warm_mirrors import rebuild

pytestmark = [
    pytest.mark.usefixtures("own_registry", "committed", "no_hints", "forgotten"),
    pytest.mark.also_on("sqlite"),
]

ITEM = Item._meta.db_table
CLERK = f"clerk_{secrets.token_hex(4)}"  # all databases of the server share its roles
Watching = Callable[..., type[Mirror]]


@pytest.fixture
def forgotten(committed: None) -> Any:
    """Let this process check all triggers anew, after the test as well."""
    triggers.forget()
    yield
    triggers.forget()


@pytest.fixture
def made(committed: None) -> Any:
    """Return a function that executes SQL, and one more statement after the test. Triggers are installed then."""
    undone: list[str] = []

    def make(statement: str, undo: str = "") -> None:
        run(statement)
        undone.insert(0, undo)

    yield make
    run(*filter(None, undone))
    install.install()


@pytest.fixture
def watching() -> Watching:
    """Return a function that registers a mirror ``called`` which watches the table ``name``."""

    def watch(table: str, called: str = "place", *, only: Sequence[str] = (), inserts: bool = True) -> type[Mirror]:
        with isolate_apps("tests.projects.mirrortest"):

            class Place(models.Model):  # noqa: DJ008
                name = models.TextField()

                class Meta:
                    app_label, db_table, managed = "mirrortest", table, False

        class PlaceMirror(Mirror):
            model = Place
            watches = [Watch(Place, only=tuple(only), inserts=inserts)]

            def record_key(self, pk: str) -> str:
                return f"tplace:{called}:{pk}"

            def load(self, pks: Sequence[str]) -> Mapping[str, Any]:
                return {}

            def record(self, row: Any) -> dict[str, Any]:
                return {}

        PlaceMirror.name = called
        register(PlaceMirror)
        install.install()
        Change.objects.all().delete()
        return PlaceMirror

    return watch


def keys(called: str = "place") -> list[str]:
    """Return the keys of the pending changes of a mirror, and empty the outbox."""
    found = sorted(Change.objects.filter(mirror=called, applied_at=None).values_list("key", flat=True))
    Change.objects.all()._raw_delete("default")
    return found


def warm(*names: str) -> None:
    """Make these mirrors warm, and let this process accept the present triggers."""
    triggers.check(relay_client())
    rebuild(names or ("place",))
    assert is_warm(*names)


def is_warm(*names: str) -> bool:
    return all(marker.is_warm(relay_client(), name) for name in names or ("place",))


def reasons(name: str = "place") -> tuple[str, ...]:
    return next(found for found in status.statuses() if found.mirror == name).faults


def found_by_check() -> list[CheckMessage]:
    return checks.check_triggers(databases=["default"])


@pytest.mark.only_on("postgres")
class TestSchemas:
    @pytest.fixture(autouse=True)
    def schemas(self, made: Callable[..., None]) -> None:
        for schema in ("inventory", "archive"):
            made(f"CREATE SCHEMA {schema}", f"DROP SCHEMA {schema} CASCADE")
            run(f"CREATE TABLE {schema}.place (id serial PRIMARY KEY, name text)")

    @pytest.mark.parametrize("table", ['inventory"."place', '"inventory"."place"'])
    def test_table_in_another_schema_is_captured(self, watching: Watching, table: str) -> None:
        place = watching(table)
        assert install.missing() == []
        row = place.model._base_manager.create(name="a")
        place.model._base_manager.update(name="b")
        assert keys() == [str(row.pk)] * 2
        run("TRUNCATE inventory.place")
        assert keys() == [WHOLE]
        assert install.install() == []

    def test_tables_of_one_name_in_two_schemas_have_triggers_of_their_own(self, watching: Watching) -> None:
        watching('inventory"."place', "here")
        watching('archive"."place', "there")
        run("INSERT INTO inventory.place VALUES (1, 'a')", "INSERT INTO archive.place VALUES (2, 'b')")
        assert set(Change.objects.values_list("mirror", "key")) == {("here", "1"), ("there", "2")}
        assert install.missing() == []

    def test_table_that_only_the_search_path_finds_is_cold_without_it(self, watching: Watching) -> None:
        run("SET search_path TO public, inventory")
        try:
            watching("place")
            warm()
            run("INSERT INTO place VALUES (5, 'a')")
            assert keys() == ["5"]
            run("SET search_path TO public")
            triggers.check(relay_client())
            assert not is_warm()
            assert "place: no such table" in reasons()
        finally:
            run("SET search_path TO DEFAULT")

    def test_other_table_under_the_name_of_a_watched_one_makes_the_mirror_cold(self, watching: Watching) -> None:
        watching('inventory"."place')
        warm()
        run("ALTER TABLE inventory.place RENAME TO old", "CREATE TABLE inventory.place (id integer, name text)")
        run("INSERT INTO inventory.place VALUES (1, 'missed')")
        triggers.check(relay_client())
        assert not is_warm()
        assert reasons() != ()
        assert install.install() == ["place"]


class TestViews:
    def test_view_is_cold_and_refused_with_a_way_out(self, watching: Watching, made: Callable[..., None]) -> None:
        made(f"CREATE VIEW tplace AS SELECT id, name FROM {ITEM}", "DROP VIEW tplace")
        place = watching("tplace")
        self.assert_refused(place, "is a view")

    def assert_refused(self, place: type[Mirror], reason: str) -> None:
        [error] = found_by_check()
        assert (error.id, error.obj) == ("mirror.E026", place)
        assert error.msg.startswith(f"Mirror 'place' watches 'tplace', which {reason}")
        assert "Watch the tables" in str(error.hint)
        assert reasons() == (f"tplace: {reason}",)
        world.rest()
        assert not is_warm()
        assert install.install() == []

    @pytest.mark.only_on("postgres")
    def test_materialized_view_is_refused(self, watching: Watching, made: Callable[..., None]) -> None:
        made(f"CREATE MATERIALIZED VIEW tplace AS SELECT id, name FROM {ITEM}", "DROP MATERIALIZED VIEW tplace")
        self.assert_refused(watching("tplace"), "is a materialized view")

    @pytest.mark.only_on("postgres")
    def test_foreign_table_is_refused(self, watching: Watching, made: Callable[..., None]) -> None:
        made("CREATE EXTENSION postgres_fdw", "DROP EXTENSION postgres_fdw CASCADE")
        run("CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw")
        run("CREATE USER MAPPING FOR PUBLIC SERVER far")
        run("CREATE FOREIGN TABLE tplace (id integer, name text) SERVER far")
        self.assert_refused(watching("tplace"), "is a foreign table")

    @pytest.mark.only_on("sqlite")
    def test_virtual_table_is_refused(self, watching: Watching, made: Callable[..., None]) -> None:
        made("CREATE VIRTUAL TABLE tplace USING fts5(id, name)", "DROP TABLE tplace")
        self.assert_refused(watching("tplace"), "is a virtual table")

    @pytest.mark.only_on("postgres")
    def test_table_with_heirs_is_refused(self, watching: Watching, made: Callable[..., None]) -> None:
        made("CREATE TABLE tplace (id serial PRIMARY KEY, name text)", "DROP TABLE tplace CASCADE")
        run("CREATE TABLE their () INHERITS (tplace)")
        self.assert_refused(watching("tplace"), "has tables that inherit from it")

    @pytest.mark.only_on("postgres")
    @pytest.mark.parametrize(
        "statements",
        [
            ["CREATE UNLOGGED TABLE tplace (id serial PRIMARY KEY, name text)"],
            [
                "CREATE TABLE tplace (id integer, name text) PARTITION BY LIST (name)",
                "CREATE UNLOGGED TABLE tplace_a PARTITION OF tplace FOR VALUES IN ('a')",
            ],
        ],
    )
    def test_table_that_a_crash_empties_is_refused(
        self, watching: Watching, made: Callable[..., None], statements: list[str]
    ) -> None:
        made(statements[0], "DROP TABLE tplace")
        run(*statements[1:])
        self.assert_refused(watching("tplace"), "has unlogged rows, which a crash of PostgreSQL deletes")

    @pytest.mark.only_on("postgres")
    @pytest.mark.parametrize("moved", [False, True])
    def test_table_that_gets_an_heir_is_cold_with_the_reason(
        self, watching: Watching, made: Callable[..., None], moved: bool
    ) -> None:
        made("CREATE TABLE tplace (id integer PRIMARY KEY, name text)", "DROP TABLE tplace CASCADE")
        made("CREATE TABLE their (id integer PRIMARY KEY, name text)", "DROP TABLE IF EXISTS their")
        watching("tplace")
        warm()
        if moved:
            run("ALTER TABLE their INHERIT tplace")
        else:
            run("DROP TABLE their", "CREATE TABLE their () INHERITS (tplace)")
        triggers.check(relay_client())
        assert not is_warm()
        assert reasons() == ("tplace: has tables that inherit from it",)
        run("DROP TABLE their")
        sweeper.sweep()
        assert orders() == ["place"]
        world.rest()
        assert is_warm()

    @pytest.mark.only_on("postgres")
    @pytest.mark.parametrize(
        ("parent", "statement"),
        [
            ("CREATE TABLE tparent (id integer, name text)", "ALTER TABLE tplace INHERIT tparent"),
            (
                "CREATE TABLE tparent (id integer, name text) PARTITION BY LIST (name)",
                "ALTER TABLE tparent ATTACH PARTITION tplace FOR VALUES IN ('a', 'b')",
            ),
        ],
    )
    def test_table_that_becomes_an_heir_is_cold_until_its_triggers_are_right(
        self, watching: Watching, made: Callable[..., None], parent: str, statement: str
    ) -> None:
        made(parent, "DROP TABLE tparent CASCADE")
        made("CREATE TABLE tplace (id integer, name text)", "DROP TABLE tplace CASCADE")
        watching("tplace")
        run("INSERT INTO tplace VALUES (1, 'a')")
        warm()
        run(statement)
        triggers.check(relay_client())
        assert not is_warm()
        install.install()
        world.rest()
        assert is_warm()
        keys()
        run("UPDATE tparent SET name = 'b'")  # names the other table
        assert keys() == ["1"]

    @pytest.mark.only_on("postgres")
    def test_heir_itself_is_captured(self, watching: Watching, made: Callable[..., None]) -> None:
        made("CREATE TABLE tparent (id serial PRIMARY KEY, name text)", "DROP TABLE tparent CASCADE")
        run("CREATE TABLE tplace () INHERITS (tparent)")
        watching("tplace")
        run("INSERT INTO tplace VALUES (3, 'a')", "UPDATE tparent SET name = 'b'")
        assert keys() == ["3", "3"]

    def test_missing_table_is_named(self, watching: Watching) -> None:
        watching("tnowhere")
        assert reasons() == ("tnowhere: no such table",)
        [error] = found_by_check()
        assert (error.id, "tnowhere: no such table" in error.msg) == ("mirror.E010", True)
        world.rest()
        assert not is_warm()


@pytest.mark.only_on("postgres")
class TestPartitions:
    @pytest.fixture(autouse=True)
    def parts(self, made: Callable[..., None]) -> None:
        made("CREATE TABLE tplace (id serial, name text) PARTITION BY RANGE (id)", "DROP TABLE tplace")
        run("CREATE TABLE tplace_low PARTITION OF tplace FOR VALUES FROM (0) TO (100)")
        run("CREATE TABLE tplace_high PARTITION OF tplace FOR VALUES FROM (100) TO (200)")

    def test_write_to_the_table_or_to_a_partition_is_captured_once(self, watching: Watching) -> None:
        watching("tplace")
        assert install.missing() == []
        run("INSERT INTO tplace VALUES (1, 'a'), (101, 'b')", "INSERT INTO tplace_low VALUES (2, 'c')")
        assert keys() == ["1", "101", "2"]
        run("UPDATE tplace SET name = 'd' WHERE id < 3", "UPDATE tplace_high SET name = 'e'")
        assert keys() == ["1", "101", "2"]
        run("DELETE FROM tplace_low WHERE id = 1", "DELETE FROM tplace WHERE id = 2")
        assert keys() == ["1", "2"]
        run("SET session_replication_role = replica", "UPDATE tplace SET name = 'f'")
        run("RESET session_replication_role")
        assert keys() == ["101"]

    @pytest.mark.parametrize("only", [(), ("name",)])
    def test_row_that_moves_to_another_partition_is_captured(self, watching: Watching, only: Sequence[str]) -> None:
        watching("tplace", only=only, inserts=False)
        run("INSERT INTO tplace VALUES (1, 'a')")
        keys()
        run("UPDATE tplace SET id = 101")
        assert keys() == ["1", "101"]

    def test_partition_that_is_watched_itself_is_captured(self, watching: Watching) -> None:
        watching("tplace_low")
        run("INSERT INTO tplace VALUES (1, 'a'), (101, 'b')", "INSERT INTO tplace_low VALUES (2, 'c')")
        assert keys() == ["1", "2"]
        run("TRUNCATE tplace")
        assert keys() == [WHOLE]

    @pytest.mark.parametrize(
        "how",
        [
            "CREATE TABLE tplace_top PARTITION OF tplace FOR VALUES FROM (200) TO (300)",
            "ALTER TABLE tplace ATTACH PARTITION tother FOR VALUES FROM (200) TO (300)",
            "ALTER TABLE tplace DETACH PARTITION tplace_high",
            "DROP TABLE tplace_high",
            "TRUNCATE tplace_high",
        ],
    )
    def test_changed_partitions_lead_to_a_rebuild(
        self, watching: Watching, made: Callable[..., None], how: str
    ) -> None:
        made("CREATE TABLE tother (id integer NOT NULL, name text)", "DROP TABLE IF EXISTS tother")
        run("INSERT INTO tother VALUES (201, 'elsewhere')", "INSERT INTO tplace VALUES (101, 'b')")
        watching("tplace")
        warm()
        keys()
        made(how, "DROP TABLE IF EXISTS tplace_high")
        assert keys() == []
        triggers.check(relay_client())
        assert not is_warm()
        assert orders() == ["place"]
        world.rest()
        assert is_warm()
        assert install.missing() == []
        run("INSERT INTO tplace VALUES (50, 'new')")
        assert keys() == ["50"]

    def test_new_partition_is_captured(self, watching: Watching) -> None:
        watching("tplace")
        run("CREATE TABLE tplace_top PARTITION OF tplace FOR VALUES FROM (200) TO (300)")
        run("INSERT INTO tplace_top VALUES (250, 'a')")
        assert keys() == ["250"]
        assert install.missing() == []

    def test_disabled_trigger_of_a_partition_makes_the_mirror_cold(self, watching: Watching) -> None:
        watching("tplace")
        warm()
        run("ALTER TABLE tplace_low DISABLE TRIGGER ALL")
        triggers.check(relay_client())
        assert not is_warm()
        assert reasons() == ("out of date: row on tplace",)
        assert install.install() == ["place"]
        assert install.missing() == []

    def test_partition_on_another_server_is_refused(self, watching: Watching, made: Callable[..., None]) -> None:
        made("CREATE EXTENSION postgres_fdw", "DROP EXTENSION postgres_fdw CASCADE")
        run("CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw")
        run("CREATE USER MAPPING FOR PUBLIC SERVER far")
        run("CREATE FOREIGN TABLE tfar PARTITION OF tplace FOR VALUES FROM (200) TO (300) SERVER far")
        watching("tplace")
        assert reasons() == ("tplace: has a foreign table as a partition",)
        assert [error.id for error in found_by_check()] == ["mirror.E026"]


class TestAlteredTables:
    @pytest.fixture(autouse=True)
    def table(self, made: Callable[..., None]) -> None:
        made("CREATE TABLE tplace (id integer PRIMARY KEY, name text, other text)", "DROP TABLE IF EXISTS tplace")

    @pytest.mark.parametrize("replicated", [False, True])
    @pytest.mark.only_on("postgres")
    def test_write_after_a_watched_column_was_renamed_is_noted(self, watching: Watching, replicated: bool) -> None:
        watching("tplace", only=["name"])
        warm()
        run("INSERT INTO tplace VALUES (1, 'a')")
        keys()
        run("ALTER TABLE tplace RENAME name TO title")
        if replicated:
            run("SET session_replication_role = replica")
        run("UPDATE tplace SET title = 'b'", "RESET session_replication_role")
        with connection.cursor() as cursor:
            cursor.execute("SELECT title FROM tplace")
            assert cursor.fetchall() == [("b",)]
        [noted] = Change.objects.all()
        assert (noted.mirror, noted.source, noted.key) == ("place", "", WHOLE)
        assert "name" in noted.error
        sweeper.sweep()
        assert not is_warm()

    def test_mirror_of_a_renamed_column_is_cold_with_the_reason_until_it_is_back(self, watching: Watching) -> None:
        watching("tplace", only=["name"])
        warm()
        run("ALTER TABLE tplace RENAME name TO title")
        sweeper.sweep()
        assert not is_warm()
        assert "tplace: no column 'name'" in reasons()
        run("INSERT INTO tplace (id, title) VALUES (1, 'a')")
        run("ALTER TABLE tplace RENAME title TO name")
        install.install()
        world.rest()
        assert is_warm()
        assert reasons() == ()

    @pytest.mark.only_on("postgres")
    def test_write_after_a_watched_column_was_dropped_succeeds(self, watching: Watching) -> None:
        watching("tplace")
        run("ALTER TABLE tplace DROP COLUMN id", "INSERT INTO tplace (name) VALUES ('a')", "DELETE FROM tplace")
        assert keys() == [WHOLE, WHOLE]
        assert "tplace: no column 'id'" in reasons()

    @pytest.mark.only_on("postgres")
    def test_added_column_causes_no_rebuild(self, watching: Watching) -> None:
        watching("tplace")
        warm()
        run("ALTER TABLE tplace ADD COLUMN more integer")
        triggers.check(relay_client())
        assert is_warm()
        assert orders() == []

    @pytest.mark.only_on("postgres")
    @pytest.mark.parametrize(
        "statements",
        [
            ["ALTER TABLE tplace ALTER COLUMN name TYPE text USING upper(name)"],
            ["ALTER TABLE tplace ALTER COLUMN name TYPE varchar(1) USING left(name, 1)"],
            ["ALTER TABLE tplace DROP COLUMN name", "ALTER TABLE tplace ADD COLUMN name text DEFAULT 'x'"],
            ["ALTER TYPE tmood RENAME VALUE 'sad' TO 'blue'"],
        ],
    )
    @pytest.mark.parametrize("only", [["name"], []])
    def test_column_that_is_rewritten_leads_to_a_rebuild(
        self, watching: Watching, made: Callable[..., None], statements: Sequence[str], only: Sequence[str]
    ) -> None:
        made("CREATE TYPE tmood AS ENUM ('sad', 'happy')", "DROP TYPE tmood CASCADE")
        if "TYPE tmood" in statements[0]:
            run("ALTER TABLE tplace ALTER COLUMN name TYPE tmood USING 'sad'")
        watching("tplace", only=only)
        warm()
        run(*statements)
        triggers.check(relay_client())
        assert orders() == ["place"]
        sweeper.sweep()
        world.rest()
        triggers.check(relay_client())
        assert is_warm()
        assert orders() == ["place"]

    @pytest.mark.only_on("postgres")
    def test_migration_that_rewrites_a_column_leads_to_a_rebuild(self, watching: Watching) -> None:
        watching("tplace", only=["name"])
        warm()
        run("ALTER TABLE tplace ALTER COLUMN name TYPE text USING upper(name)")
        install.install()
        triggers.check(relay_client())
        assert orders() == ["place"]

    @pytest.mark.only_on("postgres")
    def test_equal_values_with_other_bytes_are_changes(self, watching: Watching, made: Callable[..., None]) -> None:
        """Until the triggers compare a column by its new type, its mirror is cold."""
        made(
            "CREATE COLLATION tnocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
            "DROP COLLATION tnocase CASCADE",
        )
        watching("tplace", only=["name"])
        run("INSERT INTO tplace VALUES (1, 'a')")
        warm()
        run("ALTER TABLE tplace ALTER COLUMN name TYPE text COLLATE tnocase")
        triggers.check(relay_client())
        assert not is_warm()
        assert "out of date" in " ".join(reasons())
        install.install()
        Change.objects.all()._raw_delete("default")
        run("UPDATE tplace SET name = 'A'")
        assert keys() == ["1"]
        run("UPDATE tplace SET name = 'A'")
        assert keys() == []

    @pytest.mark.only_on("postgres")
    def test_rewritten_column_that_no_mirror_watches_causes_no_rebuild(self, watching: Watching) -> None:
        watching("tplace", only=["name"])
        warm()
        run("ALTER TABLE tplace ALTER COLUMN other TYPE text USING upper(other)", "VACUUM FULL tplace")
        triggers.check(relay_client())
        assert is_warm()
        assert orders() == []

    @pytest.mark.only_on("postgres")
    def test_ids_that_another_program_wrote_into_the_outbox_stop_no_write(self, watching: Watching) -> None:
        watching("tplace")
        run("INSERT INTO tplace VALUES (1, 'a')")
        last = Change.objects.latest("id").pk
        taken = range(last + 1, last + 11)
        Change.objects.bulk_create([Change(id=pk, mirror="nobody", key="k") for pk in taken])
        run("INSERT INTO tplace VALUES (2, 'b')", "INSERT INTO tplace VALUES (3, 'c')")
        assert keys() == [WHOLE, "1", "3"]

    @pytest.mark.only_on("postgres")
    def test_writes_succeed_while_the_outbox_cannot_be_written_and_its_mirrors_are_cold(
        self, watching: Watching
    ) -> None:
        watching("tplace")
        warm()
        run("ALTER TABLE mirror_change RENAME TO mirror_elsewhere")
        try:
            run("INSERT INTO tplace VALUES (1, 'a')")
            triggers.check(relay_client())
            assert not is_warm()
            assert not is_warm("tfollow")
            [fault] = install.missing()
            assert str(fault) == "mirror_change: no such table"
        finally:
            run("ALTER TABLE mirror_elsewhere RENAME TO mirror_change")


@pytest.mark.only_on("postgres")
class TestRights:
    @pytest.fixture(autouse=True)
    def role(self, made: Callable[..., None]) -> None:
        made(f"CREATE ROLE {CLERK}", f"DROP ROLE {CLERK}")
        made(f"GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON {ITEM} TO {CLERK}", f"DROP OWNED BY {CLERK}")
        made(f"GRANT USAGE ON SEQUENCE {ITEM}_id_seq TO {CLERK}", "RESET ROLE")

    def test_role_without_rights_on_the_outbox_can_write(self) -> None:
        run(f"SET ROLE {CLERK}")
        with pytest.raises(DatabaseError), transaction.atomic():
            Change.objects.create(mirror="titem", key="1")
        item = Item.objects.create(name="a")
        Item.objects.update(score=1)
        run(f"DELETE FROM {ITEM}", "RESET ROLE")
        assert keys("titem") == [str(item.pk)] * 3

    def test_role_cannot_use_the_functions_for_a_table_of_its_own(self) -> None:
        made = "CREATE TEMP TABLE mine (id integer, name text, score integer, group_id integer, hidden boolean)"
        run(f"SET ROLE {CLERK}", made)
        function = f"mirror_{ITEM}_insert"
        with pytest.raises(DatabaseError, match="permission denied for function"), transaction.atomic():
            run(
                "CREATE TRIGGER mine AFTER INSERT ON mine REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT"
                f" EXECUTE FUNCTION {function}()"
            )
        run("DROP TABLE mine", "RESET ROLE")

    def test_function_of_an_owner_without_rights_on_the_outbox_is_reported(self, made: Callable[..., None]) -> None:
        function = f"mirror_{ITEM}_insert"
        made(f"ALTER FUNCTION {function}() OWNER TO {CLERK}", "")
        assert [str(fault) for fault in install.missing()] == [f"out of date: insert on {ITEM}"]
        Item.objects.create(name="a")
        assert keys("titem") == []  # a warning; the mirror is cold
        triggers.check(relay_client())
        assert not is_warm("titem")
        assert "titem" in install.install()
        assert install.missing() == []

    @pytest.mark.parametrize(
        ("alter", "restore"),
        [
            (f"ALTER TABLE {ITEM} ENABLE ROW LEVEL SECURITY", f"ALTER TABLE {ITEM} DISABLE ROW LEVEL SECURITY"),
            (f"REVOKE SELECT ON {ITEM} FROM {CLERK}", ""),
        ],
        ids=["row-level security", "no right"],
    )
    def test_role_that_may_not_read_all_rows_is_refused(
        self, made: Callable[..., None], alter: str, restore: str
    ) -> None:
        made(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {CLERK}", "RESET ROLE")

        def find() -> list[str]:
            run(f"SET ROLE {CLERK}")
            found = [error.msg for error in checks.check_connection(databases=["default"])]
            run("RESET ROLE")
            return found

        assert find() == []
        made(alter, restore)
        assert find() == [f"The role '{CLERK}' may not read all rows of {ITEM}."]

    def test_revoked_right_of_an_owner_makes_the_mirror_cold(self) -> None:
        run(f"GRANT SELECT, INSERT ON mirror_change TO {CLERK}")
        run(f"GRANT UPDATE ON SEQUENCE mirror_change_id_seq TO {CLERK}")
        run(f"ALTER FUNCTION mirror_{ITEM}_insert() OWNER TO {CLERK}")
        assert install.missing() == []
        warm("titem")
        Item.objects.create(name="a")
        assert keys("titem") != []
        run(f"REVOKE INSERT ON mirror_change FROM {CLERK}")
        Item.objects.create(name="b")
        triggers.check(relay_client())
        assert not is_warm("titem")
        assert reasons("titem") == (f"out of date: insert on {ITEM}",)
