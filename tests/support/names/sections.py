"""List the sections of ``tests/names.txt`` with their collectors."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.support.names import (
    addresses,
    answers,
    commands,
    environment,
    redis_keys,
    redis_values,
    reports,
    tasks,
)

CODE: Final[dict[str, Callable[[], list[str]]]] = {
    "Mirrors and visits": redis_keys.collect_declared,
    "Addresses": addresses.collect,
    "Commands": commands.collect,
    "Settings": environment.collect_settings,
    "Environment variables": environment.collect_variables,
    "Celery": tasks.collect,
}
DATABASE: Final[dict[str, Callable[[], list[str]]]] = {
    "JSON answers": answers.collect,
    "Fields of Redis values": redis_values.collect,
}
REPORTS: Final[dict[str, Callable[[Path], list[str]]]] = {"JSON reports of commands": reports.collect}
