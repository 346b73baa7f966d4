"""A mirrored column is replaced in three releases (expand, migrate, contract) while writes go on."""

import threading
from collections.abc import Iterator
from itertools import count

import orjson
import pytest
from django.db import connection, models, transaction
from django.test.utils import isolate_apps
from redis import Redis

from mirror import Column, Mirror, register, registry
from mirror.capture import install, layouts
from mirror.relay import drains
from mirror.upkeep import rebuild
from mirror.verify import runs
from mirror.warm.triggers import forget
from tests.mirror.conftest import own_registry
from tests.support.servers import wait_until

pytestmark = pytest.mark.also_on("sqlite")

__all__ = ["own_registry"]
TABLE = "tcolumn"
ROWS = 20


def run(statement: str, *parameters: int) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, parameters)


class Writer:
    """A thread that renames one row after another. columns: those that the present release writes."""

    def __init__(self) -> None:
        self.columns: tuple[str, ...] = ("name",)
        self.names, self._stopped = dict[int, str](), threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work)

    def _work(self) -> None:
        for number in count():
            if self._stopped.is_set():
                break
            row, name = 1 + number % ROWS, f"name {number}"
            with self._lock:  # so that a release changes no statement halfway
                settings = ", ".join(f"{column} = '{name}'" for column in self.columns)
                run(f"UPDATE {TABLE} SET {settings} WHERE id = {row}")
                self.names[row] = name
        connection.close()

    def release(self, *columns: str) -> None:
        """Let the writer use other columns from its next statement on, and wait for some statements."""
        with self._lock:
            self.columns = columns
            before = dict(self.names)
        wait_until(lambda: all(self.names[row] != before.get(row) for row in list(self.names)[:3]), "some writes")

    def __enter__(self) -> "Writer":
        self._thread.start()
        wait_until(lambda: len(self.names) == ROWS, "a name for each row")
        return self

    def __exit__(self, *error: object) -> None:
        self._stopped.set()
        self._thread.join()


def deploy(mirror: type[Mirror]) -> None:
    """Replace the declaration, as ``migrate`` and a restart of the relay do."""
    registry.unregister(TABLE)
    register(mirror)
    install.install()
    layouts.record("default")
    forget()
    rebuild.rebuild([TABLE])


@pytest.fixture
def releases(own_registry: None) -> Iterator[list[type[Mirror]]]:
    """Return the declarations of the release before the change and of the one after it."""
    with isolate_apps("tests.projects.mirrortest"):

        class Before(models.Model):  # noqa: DJ008
            name = models.CharField(max_length=100)

            class Meta:
                app_label, db_table = "mirrortest", TABLE

        class After(models.Model):  # noqa: DJ008
            title = models.CharField(max_length=100, null=True)

            class Meta:
                app_label, db_table = "mirrortest", TABLE

        class BeforeMirror(Mirror):
            name, model, key, fields = TABLE, Before, "tcolumn:{pk}", ["id", "name"]

        class AfterMirror(Mirror):
            name, model, key, version = TABLE, After, "tcolumn:{pk}", "2"
            fields = ["id", Column("title", name="name")]

        with connection.schema_editor() as editor:
            editor.create_model(Before)
        yield [BeforeMirror, AfterMirror]
        registry.unregister(TABLE)
        install.install()
        run(f"DROP TABLE {TABLE}")


@pytest.mark.django_db(transaction=True)
def test_no_write_is_lost_while_a_mirrored_column_is_replaced(releases: list[type[Mirror]], redis: Redis) -> None:
    before, after = releases
    for row in range(1, ROWS + 1):
        run(f"INSERT INTO {TABLE} (id, name) VALUES (%s, '')", row)
    deploy(before)
    with Writer() as writer:
        run(f"ALTER TABLE {TABLE} ADD COLUMN title varchar(100)")
        writer.release("name", "title")
        for start in range(1, ROWS + 1, 5):
            run(f"UPDATE {TABLE} SET title = name WHERE id >= %s AND id < %s", start, start + 5)
        deploy(after)
        writer.release("title")
        run(f"ALTER TABLE {TABLE} DROP COLUMN name")
        writer.release("title")
    drains.drain_all()
    assert list(runs.verify([TABLE])) == []
    found = {row: orjson.loads(redis.get(f"tcolumn:{row}") or b"{}")["name"] for row in range(1, ROWS + 1)}
    assert found == writer.names
