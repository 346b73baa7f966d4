"""Each step of a rebuild or verification begins inside of an index, so that its time does not grow with the table."""

import json
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from django.db import connection, transaction

from mirror import registry

pytestmark = pytest.mark.django_db
AFTER = ("5:6", "5")
WITHOUT_INDEX = {"t'odd", "ttopic"}  # of these tests' own tables


def find_statement(ask: Callable[[str], Any]) -> tuple[str, Any] | None:
    """Return the statement with values that finds the keys after one of ``AFTER``, the first that fits the mirror."""
    seen: list[tuple[str, Any]] = []

    def note(execute: Any, sql: str, values: Any, many: bool, context: Any) -> Any:
        seen.append((sql, values))
        return execute(sql, values, many, context)

    for after in AFTER:
        with suppress(ValueError), connection.execute_wrapper(note):
            ask(after)
            return seen[-1] if seen else None
    raise AssertionError("no key fits")


@contextmanager
def indexes_preferred() -> Generator[None, None, None]:
    """Let PostgreSQL use an index wherever it can, as with large tables."""
    with transaction.atomic(), connection.cursor() as cursor:
        for name in ("seqscan", "bitmapscan", "sort", "hashjoin", "mergejoin"):
            cursor.execute(f"SET LOCAL enable_{name} = off")
        yield


def list_nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from list_nodes(inner)


def explain(sql: str, values: Any) -> list[dict[str, Any]]:
    with indexes_preferred(), connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}", values)
        (found,) = cursor.fetchone()
    plan = json.loads(found) if isinstance(found, str) else found
    return list(list_nodes(plan[0]["Plan"]))


@pytest.mark.parametrize("name", sorted({mirror.name for mirror in registry.all_mirrors()} - WITHOUT_INDEX))
def test_the_next_keys_are_found_in_an_index(name: str) -> None:
    mirror = registry.get(name)
    statement = find_statement(lambda after: mirror.keys_after(after, 10))
    if statement is None:
        assert mirror.keys_after("5", 10) == [], "one key, or a list"
        return
    nodes = explain(*statement)
    assert any(">" in node.get("Index Cond", "") for node in nodes), nodes
