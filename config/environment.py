"""The sources of settings: environment variables, and the folders of the project."""

import os
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

BASE_DIR: Final = Path(__file__).resolve().parent.parent
VAR_DIR: Final = BASE_DIR / "var"
# What the processes get from systemd or a container, for commands that an operator types. It never replaces a variable.
PRODUCTION_FILE: Final = Path(os.environ.get("ENVIRONMENT_FILE", "/etc/diptych/production.env"))
# ``make demo`` and ``make up`` write this file for the commands that run beside them. Production sets SECRET_KEY or
# DEBUG, and then nothing of the demo is read, above all not its payment provider.
DEMO_FILE: Final = VAR_DIR / "demo.env"


def _read_file() -> None:
    """Read the first of the two files that exists. Raises ImproperlyConfigured if this user may not read it."""
    for file in (PRODUCTION_FILE, DEMO_FILE):
        if not file.exists():
            continue
        if not (file.is_file() and os.access(file, os.R_OK)):
            raise ImproperlyConfigured(f"{file} is not readable by this user: run the command as the site's user.")
        environ.Env.read_env(file)
        return


if "SECRET_KEY" not in os.environ and "DEBUG" not in os.environ:
    _read_file()

env: Final = environ.Env()
DEBUG: Final = env.bool("DEBUG", default=False)


def read_required(name: str, for_developers: str) -> str:
    """Return a variable that has a default only with DEBUG. Raises ImproperlyConfigured if it is missing."""
    value = env.str(name, default=for_developers if DEBUG else "")
    if not value:
        raise ImproperlyConfigured(f"{name} is not set, and DEBUG is off. See docs/configuration.md.")
    return value


def read_origin(name: str, for_developers: str) -> str:
    """Return a required variable that is an origin ("https://host", "http://host:8000")."""
    value = read_required(name, for_developers).rstrip("/")
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or value != f"{parts.scheme}://{parts.netloc}":
        raise ImproperlyConfigured(f"{name}={value} is not an origin such as https://books.example")
    return value
