"""What the demo needs without DEBUG: secrets that are made on the first start and kept, and the fake payment provider.

Nothing here may import the settings, which need it.
"""

import os
import secrets
from contextlib import suppress

from config.environment import DEMO, VAR_DIR, env


def provide(port: str) -> None:
    """Set what is missing in this process' environment, and so for the processes that it starts."""
    if env.bool("DEBUG", default=False):
        return
    os.environ.setdefault("SITE_URL", f"http://127.0.0.1:{port if port.isdecimal() else 8000}")
    if not DEMO.exists():
        _keep(made(os.environ["SITE_URL"]))
    env.read_env(DEMO)
    os.environ.setdefault("SECOND_FACTOR_FOR_STAFF", "False")  # a file that was kept before it was known


def made(site_url: str) -> dict[str, str]:
    """Return a new environment of a site whose payments are not real."""
    return {
        "DEBUG": "False",
        "SECRET_KEY": secrets.token_urlsafe(48),
        "SITE_URL": site_url,
        "PAYMENT_PROVIDER": "shop.payments.fake.FakeProvider",
        "PAYMENT_CALLBACK_SECRET": secrets.token_urlsafe(48),
        "SECOND_FACTOR_FOR_STAFF": "False",
    }


def _keep(values: dict[str, str]) -> None:
    VAR_DIR.mkdir(parents=True, exist_ok=True)
    unfinished = DEMO.with_suffix(f".{os.getpid()}.tmp")
    with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.writelines(f"{name}={value}\n" for name, value in values.items())
    with suppress(FileExistsError):  # another start was first
        os.link(unfinished, DEMO)
    unfinished.unlink()
