"""The locks contain what the requirements name, with hashes, so that an installation cannot take anything else."""

import re
from pathlib import Path
from typing import Final

import pytest
from django.conf import settings

ROOT: Final = Path(settings.BASE_DIR)
PIN: Final = re.compile(r"^([a-z0-9._-]+)(?:\[[a-z,]+\])?==(\S+)", re.I | re.M)


def read_pins(file: str) -> dict[str, str]:
    """Return the versions of a file by normalised name."""
    found = PIN.findall((ROOT / file).read_text())
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in found}


@pytest.mark.parametrize("name", ["requirements", "requirements-dev"])
def test_the_lock_has_each_requirement_in_its_version(name: str) -> None:
    wanted, locked = read_pins(f"{name}.txt"), read_pins(f"{name}.lock")
    assert len(wanted) > 10
    assert {package: locked.get(package) for package in wanted} == wanted, "run make lock"
    assert len(locked) > len(wanted)  # and what they need


def test_the_development_lock_has_the_versions_of_the_site() -> None:
    site, development = read_pins("requirements.lock"), read_pins("requirements-dev.lock")
    assert {package: development.get(package) for package in site} == site


@pytest.mark.parametrize("name", ["requirements", "requirements-dev"])
def test_each_locked_package_has_hashes(name: str) -> None:
    lines = (ROOT / f"{name}.lock").read_text().replace("\\\n", "").splitlines()
    packages = [line for line in lines if PIN.match(line)]
    assert packages
    assert [line for line in packages if "--hash=sha256:" not in line] == []


def test_installations_require_the_hashes() -> None:
    for file in (".ci/venv", "deploy/Dockerfile"):
        assert "--require-hashes --requirement" in (ROOT / file).read_text()


def test_the_optional_package_is_the_tested_one() -> None:
    optional, development = ((ROOT / f"requirements-{name}").read_text() for name in ("stripe.txt", "dev.lock"))
    locked = re.search(r"^stripe==.*\n(?: +--hash=.*\n)+", development, re.M)
    assert locked
    assert optional.endswith(locked[0]), "copy the lines of requirements-dev.lock"
    assert {"requests", "typing-extensions"} <= read_pins("requirements.lock").keys()  # what it needs
