"""The environment of the demo, which runs without DEBUG: secrets and the fake payment provider.

The first start generates the secrets and stores them. This module must not import the settings, which depend on it.
"""

import os
import secrets
from contextlib import suppress

from config.environment import DEMO_FILE, VAR_DIR, env

SELLER = {
    "SELLER_NAME": "Diptych Demo Bookshop",
    "SELLER_ADDRESS": "Quay Street 1; 04109 Leipzig",
    "SELLER_EMAIL": "shop@diptych.invalid",
    "SELLER_COUNTRY": "DE",
}


def provide_environment(port: str) -> None:
    """Set missing variables in the environment of this process, which its child processes inherit."""
    if env.bool("DEBUG", default=False):
        return
    os.environ.setdefault("SITE_URL", f"http://127.0.0.1:{port if port.isdecimal() else 8000}")
    if not DEMO_FILE.exists():
        _store_environment(generate_environment(os.environ["SITE_URL"]))
    env.read_env(DEMO_FILE)
    os.environ.setdefault("SECOND_FACTOR_FOR_STAFF", "False")  # missing in files of older versions
    for name, value in SELLER.items():
        os.environ.setdefault(name, value)


def generate_environment(site_url: str) -> dict[str, str]:
    """Return a new environment for a site with fake payments."""
    return {
        "DEBUG": "False",
        "SECRET_KEY": secrets.token_urlsafe(48),
        "SITE_URL": site_url,
        "PAYMENT_PROVIDER": "shop.payments.fake.FakeProvider",
        "PAYMENT_CALLBACK_SECRET": secrets.token_urlsafe(48),
        "SECOND_FACTOR_FOR_STAFF": "False",
        **SELLER,
    }


def _store_environment(values: dict[str, str]) -> None:
    VAR_DIR.mkdir(parents=True, exist_ok=True)
    unfinished = DEMO_FILE.with_suffix(f".{os.getpid()}.tmp")
    # Created with its mode: a later chmod would leave the secrets readable for a moment.
    with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.writelines(f"{name}={value}\n" for name, value in values.items())
    # A link, because a rename would replace the secrets of a concurrent start that was first.
    with suppress(FileExistsError):
        os.link(unfinished, DEMO_FILE)
    unfinished.unlink()
