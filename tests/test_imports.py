"""Applications import one another only through the modules and packages at their top, and never from the project."""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[1]
APPS: Final = ("accounts", "catalog", "shop", "social", "loginlog", "common")
PROJECT: Final = ("config", "demo", "tools", "tests")
# Packages with models, which Django loads before the rest of the package can be imported: their modules are public.
WITH_MODELS: Final = {"accounts.audit", "catalog.search", "catalog.shelves"}
# Found by Django in a fixed place.
FIXED: Final = {"common.templatetags"}
MAX_MODULES: Final = 15


def find_imports(app: str) -> Iterator[tuple[Path, str, str]]:
    """Yield each ``from module import name`` of an application, at any level of its code."""
    for path in sorted((ROOT / app).rglob("*.py")):
        if "migrations" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                for name in node.names:
                    yield path.relative_to(ROOT), node.module, name.name


@pytest.mark.parametrize("app", APPS)
def test_applications_import_one_another_through_exports(app: str) -> None:
    wrong = []
    for path, module, name in find_imports(app):
        owner, *rest = module.split(".")
        if owner in PROJECT:
            wrong.append(f"{path}: {module} belongs to the project")
        if owner not in APPS or owner == app or not rest:
            continue
        package = f"{owner}.{rest[0]}"
        if package in WITH_MODELS | FIXED:
            continue
        exports = getattr(import_module(package), "__all__", None)
        is_package = (ROOT / owner / rest[0]).is_dir()
        if len(rest) > 1 or (is_package and name not in (exports or ())):
            wrong.append(f"{path}: {package} does not export {module.removeprefix(package)}.{name}")
    assert wrong == []


def test_no_folder_has_more_modules_than_a_reader_can_survey() -> None:
    folders = {path.parent for app in (*APPS, "mirror", *PROJECT[:-1]) for path in (ROOT / app).rglob("*.py")}
    crowded = {
        str(folder.relative_to(ROOT)): count
        for folder in folders
        if (count := len(list(folder.glob("*.py")))) > MAX_MODULES and folder.name != "migrations"
    }
    assert crowded == {}


def test_every_package_has_a_description() -> None:
    packages = [path for app in (*APPS, "mirror", *PROJECT[:-1]) for path in (ROOT / app).rglob("__init__.py")]
    fixed = ("migrations", "management", "commands", "templatetags")
    own = [path for path in packages if path.parent.name not in fixed]
    assert [str(path) for path in own if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))] == []
