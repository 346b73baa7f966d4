"""Names in the code contain no word that the glossary forbids in names."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDERS: Final = ("accounts", "catalog", "common", "config", "demo", "loginlog", "mirror", "shop", "social", "tools")
HEADING: Final = "## Words that no name contains"
WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def read_forbidden_words() -> set[str]:
    """Return the forbidden words of the glossary."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").partition(HEADING)[2]
    return set(re.findall(r"`([a-z]+)`", text))


def list_names(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a module defines: of functions, classes, parameters, variables and attributes."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def split_words(name: str) -> set[str]:
    """Return the words of a name in any case: "made_anew" and "MadeAnew" have two."""
    return {word.lower() for word in WORD.findall(name)}


def test_glossary_forbids_words() -> None:
    assert {"said", "news", "obey"} <= read_forbidden_words()
    assert split_words("made_anew") == split_words("MadeAnew") == {"made", "anew"}


@pytest.mark.parametrize("folder", FOLDERS)
def test_names_contain_no_forbidden_words(folder: str) -> None:
    forbidden = read_forbidden_words()
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in (ROOT / folder).rglob("*.py")
        if "migrations" not in path.parts
        for name in list_names(ast.parse(path.read_text(encoding="utf-8")))
        if not forbidden.isdisjoint(split_words(name))
    }
    assert found == set()
