"""Settings in production: required values, and security settings under https."""

import os
import subprocess
import sys
from email.utils import parseaddr
from typing import Any

import orjson
import pytest
from django.conf import settings as site
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.models import User
from demo import environment as demo_env
from tests.support.accounts.mail import deliver_emails

ASK = """
import json
from django.conf import settings
names = [name for name in dir(settings) if name.isupper()]
print(json.dumps({name: getattr(settings, name) for name in names}, default=lambda value: None))
"""


def settings_with(**given: str | None) -> subprocess.CompletedProcess[str]:
    """Run a process with these environment variables, which prints the settings or fails to start."""
    names = ("PATH", "HOME", "DATABASE_URL", "REDIS_URL", "PYTHONPATH")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    wanted = {"DJANGO_SETTINGS_MODULE": "config.settings", "DEBUG": "False"} | given
    environment = kept | {name: value for name, value in wanted.items() if value is not None}
    command = [sys.executable, "-c", ASK]
    return subprocess.run(
        command, env=environment, cwd=site.BASE_DIR, capture_output=True, text=True, timeout=600, check=False
    )


def read(ended: subprocess.CompletedProcess[str]) -> Any:
    assert ended.returncode == 0, ended.stderr
    return orjson.loads(ended.stdout)


@pytest.mark.parametrize("name", ["SECRET_KEY", "SITE_URL", "PAYMENT_PROVIDER", "PAYMENT_CALLBACK_SECRET"])
def test_missing_setting_prevents_start_in_production(name: str) -> None:
    given = demo_env.generate_environment("https://books.example")
    for value in (None, ""):
        changed = given | {name: value or ""}
        if value is None:
            del changed[name]
        ended = settings_with(**changed)
        assert ended.returncode != 0
        assert f"{name} is not set, and DEBUG is off" in ended.stderr


def test_debug_is_off_by_default() -> None:
    assert (
        read(settings_with(**demo_env.generate_environment("https://books.example") | {"DEBUG": None}))["DEBUG"]
        is False
    )


def test_published_secret_prevents_start_in_production() -> None:
    published = read(settings_with(DEBUG="True"))["SECRET_KEY"]
    ended = settings_with(**demo_env.generate_environment("https://books.example") | {"SECRET_KEY": published})
    assert "SECRET_KEY is the published one" in ended.stderr


def test_replica_of_sqlite_prevents_start() -> None:
    ended = settings_with(DEBUG="True", DATABASE_REPLICA_URL="postgres://diptych@replica/diptych")
    assert ended.returncode != 0
    assert "SQLite has no replicas" in ended.stderr


@pytest.mark.parametrize("url", ["books.example", "ftp://books.example", "https://books.example/shop", "https:///x"])
def test_site_url_must_be_an_origin(url: str) -> None:
    ended = settings_with(**demo_env.generate_environment(url))
    assert "is not an origin" in ended.stderr


def test_https_cookies_are_bound_to_the_host() -> None:
    found = read(settings_with(**demo_env.generate_environment("https://books.example")))
    for name in ("SESSION", "CSRF", "LANGUAGE"):
        assert found[f"{name}_COOKIE_NAME"].startswith("__Host-")
        assert found[f"{name}_COOKIE_SECURE"] is found[f"{name}_COOKIE_HTTPONLY"] is True
        assert found[f"{name}_COOKIE_SAMESITE"] == "Lax"
        assert found[f"{name}_COOKIE_DOMAIN"] is None
        assert found[f"{name}_COOKIE_PATH"] == "/"
    assert found["SECURE_SSL_REDIRECT"] is True
    assert found["SECURE_HSTS_SECONDS"] > 0
    assert found["SECURE_HSTS_PRELOAD"] is False
    assert "books.example" in found["ALLOWED_HOSTS"]


def test_http_cookies_do_not_require_https() -> None:
    found = read(settings_with(**demo_env.generate_environment("http://books.example:8000")))
    assert (found["DEBUG"], found["SECURE_SSL_REDIRECT"], found["SESSION_COOKIE_NAME"]) == (False, False, "sessionid")
    assert "books.example" in found["ALLOWED_HOSTS"]


def test_https_header_is_trusted_only_from_a_counted_proxy() -> None:
    given = demo_env.generate_environment("https://books.example")
    assert read(settings_with(**given))["SECURE_PROXY_SSL_HEADER"] is None
    counted = read(settings_with(**given, PROXY_COUNT="1"))
    assert counted["SECURE_PROXY_SSL_HEADER"] == ["HTTP_X_FORWARDED_PROTO", "https"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("host", ["testserver:4711", "testserver.", "TESTSERVER"])
def test_links_in_emails_use_the_site_url(settings: Settings, host: str) -> None:
    settings.SITE_URL = "https://books.example"
    User.objects.create_user("alice", "alice@example.org", "a quiet bookshop")
    Client(headers={"host": host}).post("/accounts/password_reset/", {"email": "alice@example.org"})
    (letter,) = deliver_emails()
    assert "https://books.example/accounts/reset/" in str(letter.body)
    assert "testserver" not in str(letter.body).lower()


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/", "/accounts/", "/home/", "/books/", "/shop/orders/", "/people/", "/missing/"])
@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_pages_of_users_are_private(client: Client, path: str, accept: str) -> None:
    client.force_login(User.objects.create_user("alice"))
    assert client.get(path, headers={"accept": accept}).headers["Cache-Control"] == "private, no-cache"


@pytest.mark.django_db
def test_permissions_policy_is_sent_on_every_page(client: Client) -> None:
    for path in ("/", "/missing/", "/admin/login/"):
        assert "camera=()" in client.get(path).headers["Permissions-Policy"]


def test_security_txt_names_the_contact(client: Client, settings: Settings) -> None:
    settings.SITE_URL = "https://books.example"
    response = client.get("/.well-known/security.txt")
    lines = dict(line.split(": ", 1) for line in response.content.decode().splitlines())
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert lines["Contact"] == f"mailto:{parseaddr(settings.DEFAULT_FROM_EMAIL)[1]}"
    assert lines["Canonical"] == "https://books.example/.well-known/security.txt"
    assert lines["Expires"].endswith("T00:00:00Z")


def test_well_known_address_redirects_to_password_change(client: Client) -> None:
    assert client.get("/.well-known/change-password").headers["Location"] == "/accounts/password_change/"
