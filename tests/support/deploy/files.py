"""The files of `deploy/`, parsed."""

import re
import shlex
from pathlib import Path
from typing import Any, Final

import yaml
from django.conf import settings

ROOT: Final = Path(settings.BASE_DIR)
DEPLOY: Final = ROOT / "deploy"
PASSWORD: Final = "a-password-of-tests"
CERTIFICATES: Final = "/etc/diptych/certificates"


def read_services() -> dict[str, dict[str, Any]]:
    """Return the services of the compose file."""
    services: dict[str, dict[str, Any]] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    return services


def read_procfile() -> dict[str, list[str]]:
    """Return the commands of the Procfile."""
    lines = (ROOT / "Procfile").read_text().replace("${PORT:-8000}", "8000").splitlines()
    return {name: shlex.split(command) for name, command in (line.split(": ", 1) for line in lines)}


def read_units() -> dict[str, list[str]]:
    """Return the commands of the systemd units, without the folder of programs."""
    found = {}
    for path in sorted((DEPLOY / "systemd").glob("*.service")):
        (command,) = re.findall(r"^ExecStart=/srv/diptych/\.venv/bin/(.*)$", path.read_text(), flags=re.MULTILINE)
        found[path.stem] = shlex.split(command.replace("%i", "8000").replace("%%", "%"))
    return found


def read_dockerfile(instruction: str) -> list[str]:
    """Return the arguments of an instruction in the Dockerfile, in order."""
    return re.findall(rf"^{instruction} (.*)$", (DEPLOY / "Dockerfile").read_text(), flags=re.MULTILINE)


def read_environment() -> dict[str, str]:
    """Return the example environment, filled in."""
    words = shlex.split((DEPLOY / "production.env.example").read_text(), comments=True)
    found = dict(word.split("=", 1) for word in words)
    secrets = {
        name: f"{name} of tests".ljust(60, ".") for name in found if name.startswith(("SECRET_KEY", "PAYMENT_C"))
    }
    secrets |= {"SECRET_KEY": "kT9-zQ4vYx_7Lw2nRb8mJd5sHc1fGp6aUe3iNo0yWqXtZrVkPs2BuD", "SECRET_KEY_FALLBACKS": ""}
    return {name: value.replace("PASSWORD", PASSWORD) for name, value in (found | secrets).items()}


def read_rotation(secret: str) -> list[str]:
    """Return the commands that docs/operations.md has for the rotation of a secret."""
    (row,) = re.findall(rf"^\| {secret} \| (.*) \|$", (ROOT / "docs/operations.md").read_text(), flags=re.MULTILINE)
    return re.findall(r"`([A-Z]+ [^`]*)`", row)


def read_redis_option(server: str, name: str) -> str:
    """Return an option in the configuration of a Redis."""
    (found,) = re.findall(rf"^{name} (.*)$", (DEPLOY / f"redis/{server}.conf").read_text(), flags=re.MULTILINE)
    return str(found)
