"""Choose the tests of a run by the markers ``only_on`` and ``also_on``; docs/testing.md explains the three suites."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

import pytest

# By name of the suite: its database and its kind of Redis, named as the options --on and --redis name them.
SERVERS_OF: Final = {
    "postgres": ("postgres", "single"),
    "sqlite": ("sqlite", "single"),
    "cluster": ("sqlite", "cluster"),
}
SERVERS: Final = {server for servers in SERVERS_OF.values() for server in servers}
# Fixtures of tests that use the database without the marker django_db.
DATABASE_FIXTURES: Final = frozenset({"db", "transactional_db", "live_server", "committed", "environment"})

# All tests of such a module use the database, so they run on SQLite only with a marker.
USES_DATABASE: Final = re.compile(r"^pytestmark = \[?\s*pytest\.mark\.django_db\b", re.MULTILINE)


def find_suites(markers: Iterable[pytest.Mark], *, uses_database: bool) -> frozenset[str]:
    """Return the names of the suites that a test belongs to. Raises UsageError for a marker that means nothing."""
    needed: set[str] = set()
    suites: set[str] = set()
    in_browser = False
    for marker in markers:
        if marker.name == "only_on":
            needed |= _check(marker, SERVERS)
        elif marker.name == "also_on":
            suites |= _check(marker, SERVERS_OF.keys())
        elif marker.name == "browser":
            in_browser = True
    fitting = {name for name, servers in SERVERS_OF.items() if needed.issubset(servers)}
    if not fitting:
        raise pytest.UsageError(f"no suite has all of {sorted(needed)}")
    home = "postgres" if uses_database and not in_browser else "sqlite"
    # A test that does not apply to its usual suite runs in the first one that it applies to.
    suites.add(home if home in fitting else next(name for name in SERVERS_OF if name in fitting))
    return frozenset(suites & fitting)


@cache
def may_have_tests(module: Path, suite: str) -> bool:
    """Return whether a module may have tests of a suite. If not, a run of the suite does not import it.

    Each process imports the modules of its suite, which takes as long as a hundred tests.
    """
    if not module.name.startswith("test_"):
        return True
    in_browser = module.parent.name == "browser"
    if suite == "postgres":
        return not in_browser
    text = module.read_text()
    if f'"{suite}"' in text:
        return True
    return suite == "sqlite" and (in_browser or USES_DATABASE.search(text) is None)


def applies_to(item: pytest.Item, servers: set[str]) -> bool:
    """Return whether a test can run with these kinds of servers."""
    return all(_check(marker, SERVERS) <= servers for marker in item.iter_markers("only_on"))


def belongs_to(item: pytest.Item, suite: str) -> bool:
    """Return whether ``make test`` runs a test in this suite. Raises UsageError if that suite would not find it."""
    fixtures = getattr(item, "fixturenames", ())
    uses_database = item.get_closest_marker("django_db") is not None or not DATABASE_FIXTURES.isdisjoint(fixtures)
    found = find_suites(item.iter_markers(), uses_database=uses_database)
    for name in found:
        if not may_have_tests(item.path, name):
            raise pytest.UsageError(f"{item.nodeid}: the suite {name} does not import it, see may_have_tests")
    return suite in found


def _check(marker: pytest.Mark, known: Iterable[str]) -> set[str]:
    """Return the arguments of a marker. Raises UsageError if there are none, or others than the known ones."""
    names = set(marker.args)
    if not names or not names <= set(known):
        raise pytest.UsageError(f"{marker.name}{marker.args}: expected some of {', '.join(sorted(known))}")
    return names
