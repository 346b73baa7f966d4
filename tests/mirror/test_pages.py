"""The pages in docs/mirror/ name tests, checks and public names that exist."""

import re
from pathlib import Path

import pytest

from tests.support.mirror.command import ROOT
from tools import noxfile, signatures

PAGES = sorted((ROOT / "docs" / "mirror").glob("*.md"))
REFERENCE = (ROOT / "docs" / "mirror.md").read_text(encoding="utf-8")


def test_every_named_test_exists() -> None:
    named = {found for page in PAGES for found in re.findall(r"`(tests/\S+\.py)(?:::(\w+))?`", page.read_text())}
    assert len(named) > 10
    missing = {
        (path, name)
        for path, name in named
        if not (ROOT / path).exists() or f"def {name}" not in (ROOT / path).read_text(encoding="utf-8")
    }
    assert missing == set()


def test_every_named_check_exists() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "mirror").rglob("*.py"))
    text = (ROOT / "docs" / "mirror" / "mistakes.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\b[EW]\d{3}\b", text))
    assert named
    assert {name for name in named if f"mirror.{name}" not in code} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_is_linked_from_the_reference(page: Path) -> None:
    assert f"(mirror/{page.name}" in REFERENCE


def test_matrix_runs_existing_tests_with_declared_packages() -> None:
    assert all((ROOT / path).exists() for path in (noxfile.TUTORIAL, *noxfile.FAST_TESTS))
    assert len(noxfile.find_oldest(noxfile.PACKAGES)) == len(noxfile.PACKAGES)


def test_signatures_are_up_to_date() -> None:
    assert signatures.PAGE_PATH.read_text(encoding="utf-8") == signatures.render_page(), (
        "run: python -m tools.signatures"
    )
