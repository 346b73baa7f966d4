"""Collect management commands with their actions, arguments, options and defaults, make targets and fixtures."""

import re
from argparse import SUPPRESS, Action, ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from functools import cache

from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand

from tests.support.names.project import ROOT, files, is_own


def collect() -> list[str]:
    """Return one line for each command or action, and one for each of its arguments."""
    targets = re.findall(r"^(\w[\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    lines = [f"make {target}" for target in targets]
    lines += [f"manage.py loaddata {path.stem}" for path in files("*.json") if path.parent.name == "fixtures"]
    for name, parser in parsers():
        lines.append(f"manage.py {name}")
        lines += [f"manage.py {name} {_line(action)}" for action in _own_actions(parser)]
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


def _line(action: Action) -> str:
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
