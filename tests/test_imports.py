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
WITH_MODELS: Final = {
    "accounts.audit", "accounts.notifications", "catalog.details", "catalog.library", "catalog.lists", "catalog.search",
    "catalog.shelves", "catalog.wishes", "social.reviews",
}  # fmt: skip
# Found by Django in a fixed place.
FIXED: Final = {"common.template_functions"}
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
    assert len(names) == 31
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


def find_names(tree: ast.AST) -> Iterator[str]:
    """Yield the modules and names that a module imports, dotted, anywhere in its text except for types alone.

    Texts that may name a module count too, because a module can be imported by its name.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value.partition(":")[0]
        elif not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield from find_names(node)


def read_imports(folder: str) -> dict[str, set[str]]:
    """Return the modules of a folder that each of its modules imports, by name."""
    paths = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in (ROOT / folder).rglob("*.py")
        if "migrations" not in path.parts
    }
    imports = {}
    for name, path in paths.items():
        found = set(find_names(ast.parse(path.read_text(encoding="utf-8"))))
        # "from package import module" needs the module; the package's own exports may come later.
        packages = {one.rpartition(".")[0] for one in found & paths.keys() if one.rpartition(".")[0] in found}
        by_export = {one for one in packages if any(n.rpartition(".")[0] == one and n not in paths for n in found)}
        imports[name] = found & paths.keys() - {name} - (packages - by_export)
    return imports


@pytest.mark.parametrize("folder", [*APPS, "mirror", "config", "demo", "tools"])
def test_no_modules_import_one_another(folder: str) -> None:
    TopologicalSorter(read_imports(folder)).prepare()  # raises CycleError, which names the modules


def read_layers() -> dict[str, int]:
    """Return the height of each module and package at the top of ``mirror``, from the table of the architecture."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page.partition("## Layers of `mirror`")[2].partition("\n## ")[0]
    rows = [row.split("|")[2] for row in section.splitlines() if row.startswith("| ")][1:]
    return {name: height for height, row in enumerate(rows) for name in re.findall(r"`(\w+)`", row)}


def test_layers_of_mirror_contain_all_its_modules() -> None:
    present = {
        path.stem for path in (ROOT / "mirror").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert present - {"__init__", "migrations"} == read_layers().keys()


def test_layers_of_mirror_import_only_layers_below() -> None:
    heights = read_layers()
    upwards = [
        f"{name} imports {other}"
        for name, others in read_imports("mirror").items()
        for other in sorted(others - {"mirror"})  # a text that is the name of the application, and of its logger
        if name != "mirror" and heights[other.split(".")[1]] > heights[name.split(".")[1]]
    ]
    assert upwards == []
