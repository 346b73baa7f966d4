"""Migrate the test database to a former release and back."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from mirror.capture import install

Targets = Sequence[tuple[str, str]]  # app and migration


def migrate(targets: Targets) -> Any:
    """Migrate to these migrations, and return the applications with the models of that state."""
    executor = MigrationExecutor(connection)
    executor.migrate(list(targets))
    return executor.loader.project_state(list(targets)).apps


def upgrade(targets: Targets) -> None:
    """Migrate forwards as the command does, which installs the triggers afterwards."""
    migrate(targets)
    install.install()


@contextmanager
def use_former_release(targets: Targets) -> Iterator[Any]:
    """Give the tables their form at these migrations, and yield the applications with the models of that time.

    Afterwards the tables have the form of this release, whichever migrations have been added since.
    """
    # As the command does before migrations: SQLite drops no column that a trigger names.
    install.uninstall()
    try:
        yield migrate(targets)
    finally:
        upgrade(MigrationExecutor(connection).loader.graph.leaf_nodes())
