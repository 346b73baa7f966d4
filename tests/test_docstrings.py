"""Docstrings, comments and documents name only files, functions, classes, constants and parameters that exist."""

import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[1]
APPS: Final = ("accounts", "catalog", "shop", "social", "loginlog", "common", "mirror")
FOLDERS: Final = (*APPS, "mirror", "config", "demo", "tools")
QUOTED: Final = re.compile(r"``([A-Za-z_][\w.]*)(?:\(.*?\))?``")
RAISED: Final = re.compile(r"Raises ((?:\w+(?:, | and | or )?)*)")
SUFFIXES: Final = {"py", "lua", "js", "md"}
# Of Python, HTML, Django and packages.
OTHERS: Final = {"NoReverseMatch", "confusable_homoglyphs", "maxlength"}
# In documents: names of systemd, Docker, Sentry, PostgreSQL, Redis, Prometheus and Django.
FOREIGN: Final = {
    "DeprecationWarning", "EnvironmentFile", "SENTRY_ENVIRONMENT", "SENTRY_RELEASE", "Secure", "aof_last_write_status",
    "archive_command", "cached_db", "df", "du", "env_file", "geo", "mirror_replica_reads_total", "nosniff",
    "pg_last_xact_replay_timestamp", "test_fault_",
}  # fmt: skip
SPAN: Final = re.compile(r"`([^`\n]+)`")
FILE: Final = re.compile(r"[\w./-]+\.(?:py|lua|js|html|css|md)")
IDENTIFIER: Final = re.compile(r"[A-Za-z_][\w.]*(?:\(.*\))?")


@cache
def parse_modules() -> dict[Path, ast.Module]:
    """Return the parsed modules of the project, without migrations."""
    paths = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") if "migrations" not in path.parts)
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def find_names(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a module defines or uses, and the words of its short texts, such as options."""
    docstrings = {id(body[0].value) for body in find_bodies(tree)}
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.arg(arg=name) | ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.alias(name=name, asname=other):
                yield from (other or name).split(".")
            case ast.Constant(value=str(text)) if id(node) not in docstrings:
                yield from re.findall(r"\w+", text)


def find_bodies(tree: ast.Module) -> Iterator[list[ast.Expr]]:
    """Yield the bodies that begin with a docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            match node.body:
                case [ast.Expr(value=ast.Constant(value=str())), *_]:
                    yield node.body  # type: ignore[misc]


@cache
def find_names_by_module() -> dict[str, set[str]]:
    """Return the names in each module or package, by its last name."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path, tree in parse_modules().items():
        found[path.parent.name if path.stem == "__init__" else path.stem].update(find_names(tree))
    return found


def find_mentions(text: str) -> Iterator[str]:
    """Yield the names that a module's docstrings and comments mention."""
    yield from QUOTED.findall(text)
    for names in RAISED.findall(text):
        yield from (name for name in re.findall(r"\w+", names) if re.fullmatch(r"[A-Z][a-z]+[A-Z]\w+", name))


@cache
def find_all_names() -> set[str]:
    """Return the names of all modules, and those of the modules themselves."""
    modules = find_names_by_module()
    return set().union(OTHERS, modules, *modules.values())


def exists(mention: str) -> bool:
    """Return whether a name exists: in the module before its dot if that is one of ours, otherwise anywhere."""
    modules = find_names_by_module()
    *parents, name = mention.split(".")
    if name in SUFFIXES or (parents and parents[0] in ("django", "request")):
        return True
    if parents and parents[-1] in modules.keys() - {"settings"}:
        return name in modules[parents[-1]] or name in modules
    return name in find_all_names()


@pytest.mark.parametrize("app", APPS)
def test_docstrings_name_existing_things(app: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {mention}"
        for path in parse_modules()
        if path.is_relative_to(ROOT / app)
        for mention in find_mentions(path.read_text(encoding="utf-8"))
        if not exists(mention)
    ]
    assert wrong == []


@cache
def list_files() -> frozenset[str]:
    """Return the paths of the project's files and all their ends: "mirror/conf.py" and "conf.py"."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    paths = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    return frozenset("/".join(path.split("/")[start:]) for path in paths for start in range(path.count("/") + 1))


@cache
def find_words() -> frozenset[str]:
    """Return all words of the project's files other than documents."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    paths = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    texts = [
        (ROOT / path).read_text(encoding="utf-8", errors="ignore")
        for path in paths
        if not path.endswith(".md") and (ROOT / path).is_file()
    ]
    return frozenset(re.findall(r"\w+", "\n".join(texts)))


def is_known(span: str) -> bool:
    """Return whether a code span of a document is no file and no name, or an existing one."""
    if FILE.fullmatch(span):
        return span in list_files()
    if not IDENTIFIER.fullmatch(span):
        return True
    return set(re.findall(r"\w+", span.partition("(")[0])) <= find_words() | FOREIGN


def test_documents_name_existing_things() -> None:
    documents = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    documents.remove(ROOT / "docs" / "glossary.md")  # lists words that no name contains
    unknown = [
        f"{path.relative_to(ROOT)}: {span}"
        for path in documents
        for span in SPAN.findall(path.read_text(encoding="utf-8"))
        if not is_known(span)
    ]
    assert unknown == []
