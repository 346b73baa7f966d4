"""The source of the installed Django, downloaded by pip, because its tests are not installed with it."""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Final

import django

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDER: Final = ROOT / "var" / "django-suite"


class Unavailable(RuntimeError):
    """The source could not be downloaded."""


def find_tests() -> Path:
    """Return the folder with Django's tests. It is kept below ``var``. Raises Unavailable."""
    version = django.get_version()
    tests = FOLDER / f"django-{version}" / "tests"
    if not (tests / "runtests.py").exists():
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(parents=True)
        _unpack(_download(version), tests.parent)
    return tests


def _download(version: str) -> Path:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    done = subprocess.run(
        [*pip, "--no-binary", ":all:", "--dest", str(FOLDER), f"Django=={version}"],
        capture_output=True,
        text=True,
        check=False,
    )
    found = [*FOLDER.glob("*.tar.gz")]
    if done.returncode or not found:
        last = (done.stderr.strip().splitlines() or ["no file"])[-1]
        raise Unavailable(f"the source of Django {version} could not be downloaded: {last}")
    return found[0]


def _unpack(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as packed:
        if hasattr(tarfile, "data_filter"):  # Python 3.11.4
            packed.extractall(FOLDER, filter="data")
        else:
            packed.extractall(FOLDER, [one for one in packed if (one.isfile() or one.isdir()) and ".." not in one.name])
    archive.unlink()
    unpacked = next(path for path in FOLDER.iterdir() if path.is_dir())
    if unpacked != folder:
        unpacked.rename(folder)
