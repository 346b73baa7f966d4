"""Applications import one another only through the modules and packages at their top, and never from the project.

They import only public names of ``mirror``, those of docs/mirror/interface.md.
"""

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

from tools import signatures

ROOT: Final = Path(__file__).resolve().parents[1]
APPS: Final = ("accounts", "catalog", "shop", "social", "loginlog", "common")
PROJECT: Final = ("config", "demo", "tools", "tests")
# Packages with models, which Django loads before the rest of the package can be imported: their modules are public.
WITH_MODELS: Final = {"accounts.audit", "catalog.search", "catalog.shelves"}
# Found by Django in a fixed place.
FIXED: Final = {"common.templatetags"}
PUBLIC_MODULES: Final = signatures.find_sections()
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


def find_private_names(path: Path) -> Iterator[str]:
    """Yield the names of ``mirror`` in a module that are not public, also those of modules that it exports."""
    exported: dict[str, str] = {}  # modules by their name here
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            exported |= {alias.asname or alias.name: alias.name for alias in node.names if alias.name == "mirror"}
            yield from (a.name for a in node.names if a.name.startswith("mirror.") and a.name not in signatures.PUBLIC)
        elif isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] == "mirror":
            module = str(node.module)
            for alias in node.names:
                name = f"{module}.{alias.name}"
                is_export = module in signatures.PUBLIC and alias.name in import_module(module).__all__
                if not (is_export or name in signatures.PUBLIC):
                    yield name
                elif name in PUBLIC_MODULES:
                    exported[alias.asname or alias.name] = name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in exported:
            module = exported[node.value.id]
            if node.attr not in PUBLIC_MODULES[module].__all__:
                yield f"{module}.{node.attr}"


def test_applications_import_only_public_names_of_mirror() -> None:
    paths = [path for folder in (*APPS, *PROJECT[:-1]) for path in (ROOT / folder).rglob("*.py")]
    assert {str(path.relative_to(ROOT)): names for path in paths if (names := sorted(find_private_names(path)))} == {}


def test_page_names_every_public_package_of_mirror() -> None:
    page = (ROOT / "docs" / "mirror" / "interface.md").read_text(encoding="utf-8")
    assert tuple(sorted(re.findall(r"^\| `(mirror[a-z.]*)`", page, re.MULTILINE))) == tuple(sorted(signatures.PUBLIC))


def test_page_begins_with_few_public_names() -> None:
    page = (ROOT / "docs" / "mirror" / "interface.md").read_text(encoding="utf-8")
    names = re.findall(r"`(mirror[a-z.]*)\.(\w+)`", page.partition("## All packages")[0])
    assert len(names) == 25
    assert [name for module, name in names if name not in PUBLIC_MODULES[module].__all__] == []


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


def find_imports_on_load(tree: ast.AST) -> Iterator[str]:
    """Yield the modules that a module imports when it is loaded, and the names it imports from them, dotted."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            is_for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            yield from () if is_for_types else find_imports_on_load(node)


@pytest.mark.parametrize("app", [*APPS, "mirror"])
def test_no_modules_import_one_another(app: str) -> None:
    paths = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in (ROOT / app).rglob("*.py")
        if "migrations" not in path.parts
    }
    imports = {
        name: set(find_imports_on_load(ast.parse(path.read_text(encoding="utf-8")))) & paths.keys() - {name}
        for name, path in paths.items()
        if path.name != "__init__.py"  # exports modules that may import others of the package
    }
    TopologicalSorter(imports).prepare()  # raises CycleError, which names the modules
