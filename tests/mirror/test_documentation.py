"""The mirror imports no other application, and its settings, watches, checks and commands are documented."""

import ast
import re
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

import pytest

from mirror.conf import DEFAULTS
from mirror.declare.watches import Watch
from mirror.management.commands.mirror import Command
from tests.support.mirror.command import ACTIONS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "mirror.md").read_text(encoding="utf-8")
MISTAKES = (ROOT / "docs" / "mirror" / "mistakes.md").read_text(encoding="utf-8")
SOURCES = sorted((ROOT / "mirror").rglob("*.py"))
OTHERS = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"mirror"}


def imports(source: Path) -> set[str]:
    """Return the top-level packages that a file imports, at any level of nesting."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{source} imports relatively"
            found.add(str(node.module).partition(".")[0])
    return found


def test_mirror_imports_no_other_application() -> None:
    assert {"accounts", "catalog", "config", "tests"} <= OTHERS
    assert len(SOURCES) > 40
    assert {str(source): found for source in SOURCES if (found := imports(source) & OTHERS)} == {}


@pytest.mark.parametrize("field", fields(Watch), ids=lambda field: field.name)
def test_every_field_of_a_watch_is_documented(field: Field[Any]) -> None:
    assert re.search(rf"^\| `{field.name}` \| .+ \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("name", DEFAULTS)
def test_every_setting_is_documented_with_its_default(name: str) -> None:
    row = re.search(rf"^\| `{name}` \| `(.+?)` \| .+ \|$", PAGE, re.MULTILINE)
    assert row, f"docs/mirror.md does not say what {name} is"
    assert ast.literal_eval(row[1]) == DEFAULTS[name]


def test_every_documented_setting_exists() -> None:
    assert set(re.findall(r"^\| `([A-Z_]+)` \|", PAGE, re.MULTILINE)) == set(DEFAULTS)


def test_every_check_has_one_example() -> None:
    """A check is an id like "mirror.E001" in the code."""
    checks = {check for source in SOURCES for check in re.findall(r'"mirror\.([EWI]\d{3})"', source.read_text("utf-8"))}
    assert len(checks) > 60
    rows = re.findall(r"^\| ([EWI]\d{3}(?:, [EWI]\d{3})*) \| .+ \|$", MISTAKES, re.MULTILINE)
    assert sorted(", ".join(rows).split(", ")) == sorted(checks)


def test_changelog_names_the_last_migration_of_the_newest_version() -> None:
    changelog = (ROOT / "docs" / "mirror" / "changelog.md").read_text(encoding="utf-8")
    newest = re.search(r"^## ([\d.]+)", changelog, re.MULTILINE)
    named = re.search(r"^Last migrations: ([\d.]+) `(\w+)`", changelog, re.MULTILINE)
    assert newest
    assert named
    last = max(path.stem for path in (ROOT / "mirror" / "migrations").glob("[0-9]*.py"))
    assert named.groups() == (newest[1], last)


def test_every_action_is_documented_with_all_its_options() -> None:
    parser = Command().create_parser("manage.py", "mirror")
    actions: Any = parser._subparsers._group_actions[0].choices
    assert set(actions) == set(ACTIONS)
    for name, action in actions.items():
        row = re.search(rf"^\| `manage.py mirror {name}(.*?)` \| .+ \|$", PAGE, re.MULTILINE)
        assert row, f"docs/mirror.md does not say what {name} does"
        own = {option for a in action._actions for option in a.option_strings if option.startswith("--")}
        assert set(re.findall(r"--[a-z-]+", row[1])) == own - {"--help", "--json"}
