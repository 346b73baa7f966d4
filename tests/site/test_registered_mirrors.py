"""All mirrors are registered when Django starts, in whatever order modules are imported later."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import pkgutil, importlib
import django

django.setup()
from mirror import registry

early = {mirror.name for mirror in registry.all_mirrors()}
for app in ("accounts", "catalog", "shop", "social", "loginlog"):
    for module in pkgutil.walk_packages([app], f"{app}."):
        importlib.import_module(module.name)
late = {mirror.name for mirror in registry.all_mirrors()} - early
print(len(early), sorted(late))
"""


def test_no_module_registers_a_mirror_later(environment: dict[str, str]) -> None:
    """A mirror that is registered later gets no hints, so its changes would wait for the sweep."""
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    count, _, late = done.stdout.strip().partition(" ")
    assert (late, int(count) > 20) == ("[]", True), done.stdout + done.stderr
