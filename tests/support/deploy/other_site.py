"""A second, empty site: another database, and with it another namespace of keys on the same Redis."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import connection

from tests.support.fixtures import _forget


@contextmanager
def use_other_site(folder: Path) -> Iterator[None]:
    """Let this process be the other site during the block, with a database without any table."""
    before, name = connection.settings_dict["NAME"], f"other_{folder.name.replace('-', '_')}"
    is_postgres = connection.vendor == "postgresql"
    if is_postgres:
        with connection.cursor() as cursor:
            cursor.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')
    connection.close()
    connection.settings_dict["NAME"] = name if is_postgres else str(folder / f"{name}.sqlite3")
    _forget()
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = before
        _forget()
        if is_postgres:
            with connection.cursor() as cursor:
                cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
