"""The README and the pages of ``docs/`` match the code."""

import re
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest
from django.conf import global_settings, settings

from tests import names

ROOT: Final = Path(settings.BASE_DIR)
DOCS: Final = ROOT / "docs"
README: Final = (ROOT / "README.md").read_text()
CONFIGURATION: Final = (DOCS / "configuration.md").read_text()
COMMANDS: Final = (DOCS / "commands.md").read_text() + (DOCS / "mirror.md").read_text()
PAGES: Final = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub derives them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_environment_variable_is_documented() -> None:
    sources = [ROOT / "config" / "settings.py", *(ROOT / "config" / "defaults").glob("*.py")]
    code = "".join(path.read_text() for path in sources)
    read = set(re.findall(r'(?:env\.\w+|read_required|read_origin)\(\s*"(\w+)"', code))
    assert {"SECRET_KEY", "REDIS_URL"} <= read
    assert {name for name in read if f"`{name}`" not in CONFIGURATION} == set()


@pytest.mark.parametrize("module", ["accounts", "catalog", "shop", "social"])
def test_every_setting_of_an_application_is_documented(module: str) -> None:
    upper = {name for name in vars(import_module(f"config.defaults.{module}")) if name.isupper()}
    own = {name for name in upper if not hasattr(global_settings, name)} - {"DEBUG", "BASE_DIR", "VAR_DIR"}
    assert len(own) > 3
    assert {name for name in own if f"`{name}`" not in CONFIGURATION} == set()


def test_every_command_is_documented_with_its_options() -> None:
    rows = [row.replace("`", "") for row in COMMANDS.splitlines() if row.startswith("| `manage.py ")]
    lines = "\n".join(names.read()["Commands"])
    found = re.findall(r"^(manage\.py [a-z_]+(?: [a-z][a-z_-]*)?)(?: (--[a-z-]+))?", lines, flags=re.MULTILINE)
    documented = {(command, option) for command, option in found if option != "--json"}
    assert ("manage.py mirror rebuild", "") in documented
    for command, option in documented:
        assert any(row.startswith(f"| {command} ") and option in row for row in rows), f"{command} {option}"


def test_every_make_target_is_mentioned() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^(\w+):", makefile, flags=re.MULTILINE)
    assert "demo" in targets
    assert [target for target in targets if f"make {target}" not in README] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_in_backticks_exists(page: Path) -> None:
    named = set(re.findall(r"`(\w[\w.]*/(?:[\w.]+/)*[\w.]*)`", page.read_text()))
    missing = {path for path in named if not (ROOT / path).exists()}
    assert (
        missing - {"var/", "var/demo.env", "var/loginlog", "var/media", "application/json"} == set()
    )  # the first start creates var/


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_page_and_a_heading(page: Path) -> None:
    for path, anchor in re.findall(r"\]\(([^):#]*)(?:#([^)]+))?\)", page.read_text()):
        target = page.parent / path if path else page
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"


def test_every_decision_is_complete_and_in_the_index() -> None:
    index = (DOCS / "decisions" / "README.md").read_text()
    decisions = sorted((DOCS / "decisions").glob("[!R]*.md"))
    assert 5 < len(decisions) <= 40
    for decision in decisions:
        text = decision.read_text()
        title = text.splitlines()[0].removeprefix("# ")
        date = re.findall(r"^Date: (\d{4}-\d\d-\d\d)\.", text, flags=re.MULTILINE)
        assert f"| {date[0]} | [{title}]({decision.name}) |" in index
        assert "## Context" in text
