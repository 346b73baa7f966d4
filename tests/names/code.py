"""Collect the names that the code declares: addresses, commands, settings, variables, tasks and mirrors."""

import ast
import re
from argparse import SUPPRESS, Action, ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Final

from django.apps import AppConfig, apps
from django.conf import global_settings
from django.conf import settings as site
from django.contrib import admin
from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand
from django.urls import get_resolver

from config import settings
from config.celery import app as celery
from mirror import registry
from mirror.conf import DEFAULTS
from mirror.visits.declare import all_kinds
from tests.support.matrix.addresses import walk

ROOT: Final = Path(__file__).resolve().parents[2]


@cache
def own_apps() -> list[AppConfig]:
    """Return the project's applications, without those that only the tests install."""
    return [config for config in apps.get_app_configs() if Path(config.path).parent == ROOT]


def is_own(module: str) -> bool:
    """Return whether a module or dotted name belongs to one of the project's applications."""
    return module.partition(".")[0] in {config.name for config in own_apps()}


def files(pattern: str) -> list[Path]:
    """Return the files of the applications and tools that match a pattern such as "*.py"."""
    folders = [*(Path(config.path) for config in own_apps()), ROOT / "tools"]
    return sorted(path for folder in folders for path in folder.rglob(pattern))


def nodes(paths: list[Path]) -> Iterator[ast.AST]:
    """Yield every node of the syntax trees of these files."""
    for path in paths:
        yield from ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def collect_addresses() -> list[str]:
    """Return lines ``/address/ -> name``; parameters are shown by their types."""
    pages = [f"{address(route)} -> {name or '(no name)'}" for route, name in walk(get_resolver())]
    return sorted({*pages, *_admin()})


def address(route: str) -> str:
    """Return a route with the types of its parameters instead of their names: ``/books/<int>/``."""
    return "/" + re.sub(r"<(?:(\w+):)?\w+>", lambda found: f"<{found[1] or 'str'}>", route)


def _admin() -> Iterator[str]:
    """Yield one line per model of the admin, which stands for the standard pages of the model."""
    yield "/admin/ -> admin:index"
    for model in admin.site._registry:
        if is_own(model.__module__):
            label = f"{model._meta.app_label}/{model._meta.model_name}"
            yield f"/admin/{label}/ -> admin:{label.replace('/', '_')}_*"


def collect_commands() -> list[str]:
    """Return one line for each command or action, and one for each of its arguments."""
    targets = re.findall(r"^(\w[\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    lines = [f"make {target}" for target in targets]
    lines += [f"manage.py loaddata {path.stem}" for path in files("*.json") if path.parent.name == "fixtures"]
    for name, parser in parsers():
        lines.append(f"manage.py {name}")
        lines += [f"manage.py {name} {_describe_action(action)}" for action in _own_actions(parser)]
    return sorted(lines)


def parsers() -> Iterator[tuple[str, ArgumentParser]]:
    """Yield the project's commands and their actions ("mirror", "mirror status") with their parsers."""
    for name, app in get_commands().items():
        if is_own(app):
            parser = load_command_class(app, name).create_parser("manage.py", name)
            yield from _with_actions(name, parser)


def takes_json(parser: ArgumentParser) -> bool:
    """Return whether a command or action has the option ``--json``."""
    return "--json" in parser._option_string_actions


def _with_actions(name: str, parser: ArgumentParser) -> Iterator[tuple[str, ArgumentParser]]:
    yield name, parser
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            for sub_name, sub_parser in action.choices.items():
                yield from _with_actions(f"{name} {sub_name}", sub_parser)


@cache
def _usual() -> frozenset[str]:
    """Return the options that every Django command has."""
    return frozenset(action.dest for action in BaseCommand().create_parser("manage.py", "any")._actions)


def _own_actions(parser: ArgumentParser) -> list[Action]:
    usual = _usual()
    return [a for a in parser._actions if a.dest not in usual and not isinstance(a, _SubParsersAction)]


def _describe_action(action: Action) -> str:
    """Return the option or metavar, followed by nargs, choices and default."""
    name = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    takes_value = action.nargs != 0
    shown = (
        [", ".join(action.option_strings) + (f" {name}" if takes_value else "")] if action.option_strings else [name]
    )
    if action.nargs not in (None, 0):
        shown.append(f"nargs={action.nargs}")
    if action.choices is not None:
        shown.append("{" + ",".join(map(str, action.choices)) + "}")
    if action.option_strings and action.required:
        shown.append("required")
    if action.default not in (None, False, SUPPRESS):
        shown.append(f"default={action.default}")
    return " ".join(shown)


def collect_settings() -> list[str]:
    """Return the project's own settings and the keys of ``MIRROR``."""
    sources = [path for path in files("*.py") if path.is_relative_to(ROOT / "config")]
    written = {node.id for node in nodes(sources) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own = (_upper_names(settings) & written) - _upper_names(
        global_settings
    )  # other upper-case names are imported from libraries
    return sorted(own | {f"MIRROR[{name!r}]" for name in DEFAULTS})


def collect_variables() -> list[str]:
    """Return lines ``NAME: kind`` for variables read by ``env.<kind>("NAME")`` or from ``os.environ``."""
    return sorted(set(_variables()))


def _upper_names(module: ModuleType) -> set[str]:
    return {name for name in vars(module) if name.isupper()}


def _variables() -> Iterator[str]:
    for node in nodes(files("*.py")):
        match node:
            case ast.Call(func=ast.Attribute(ast.Name("env"), kind), args=[ast.Constant(str(name)), *_]):
                yield f"{name}: {kind}"
            case ast.Call(
                func=ast.Name("read_required" | "read_origin" as reader)
                | ast.Attribute(_, "read_required" | "read_origin" as reader),
                args=[ast.Constant(str(name)), *_],
            ):
                yield f"{name}: {reader.removeprefix('read_')}"
            case ast.Call(func=ast.Attribute(where, "get"), args=[ast.Constant(str(name)), *_]) if _is_environ(where):
                yield f"{name}: os.environ"
            case ast.Subscript(where, ast.Constant(str(name)), ast.Load()) if _is_environ(where):
                yield f"{name}: os.environ"
            case ast.Compare(ast.Constant(str(name)), [ast.In() | ast.NotIn()], [where]) if _is_environ(where):
                yield f"{name}: os.environ"


def _is_environ(node: ast.expr) -> bool:
    return ast.unparse(node) == "os.environ"


def collect_tasks() -> list[str]:
    """Return tasks, routes, entries of beat, and the processes of the Procfile."""
    return sorted([*_tasks(), *_routes(), *_schedule(), *_processes()])


def _tasks() -> Iterator[str]:
    celery.loader.import_default_modules()
    for name, task in celery.tasks.items():
        if is_own(type(task).__module__):
            yield f"task {name}: queue {celery.amqp.router.route({}, name)['queue'].name}"


def _routes() -> Iterator[str]:
    yield f"default queue: {site.CELERY_TASK_DEFAULT_QUEUE}"
    for pattern, route in site.CELERY_TASK_ROUTES.items():
        yield f"route {pattern}: queue {route['queue']}"


def _schedule() -> Iterator[str]:
    for name, entry in site.CELERY_BEAT_SCHEDULE.items():
        when = entry["schedule"]
        yield f"beat {name}: {entry['task']} " + (f"every {when:g} s" if isinstance(when, float) else f"at {when}")


def _processes() -> Iterator[str]:
    for line in (ROOT / "Procfile").read_text(encoding="utf-8").splitlines():
        name, _, command = line.partition(": ")
        queues = re.search(r"--queues (\S+)", command)
        yield f"process {name}: queues {queues[1]}" if queues else f"process {name}"


def collect_declared() -> list[str]:
    """Return the names of mirrors with their layout versions, and of kinds of visits."""
    mirrors = [f"mirror {m.name}: layout {m.version}" for m in registry.all_mirrors() if is_own(type(m).__module__)]
    visits = [f"visits {kind.name}" for kind in all_kinds() if is_own(type(kind).__module__)]
    return sorted(mirrors + visits)
