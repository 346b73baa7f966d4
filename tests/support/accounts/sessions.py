"""Logged-in browsers (fixtures ``warm_sessions``, ``alice`` and ``desk``) and helpers that read their sessions.

``read_user_name`` and ``read_session_values`` request pages of ``tests.support.accounts.session_urls``.
"""

from typing import Any

import pytest
from django.db import connection
from django.test import Client

from accounts.models import User
from accounts.sessions.rows import hash_token
from mirror.relay.drains import drain_all
from tests.support.warm_mirrors import rebuild

FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0"
SAFARI = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15"
    " (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1"
)
PASSWORD = "a quiet bookshop"


@pytest.fixture
def warm_sessions() -> None:
    """Warm the mirrors of sessions and of the number in the header, so that both are read from Redis."""
    rebuild(["session", "notification"])


@pytest.fixture
def alice(warm_sessions: None) -> User:
    """Return a user with a password."""
    return User.objects.create_user("alice", password=PASSWORD)


@pytest.fixture
def desk(alice: User) -> Client:
    """Return a browser in which alice is logged in."""
    return log_in(alice)


def log_in(user: User, user_agent: str = FIREFOX) -> Client:
    """Return a new browser in which ``user`` has logged in by the form."""
    if not user.has_usable_password():
        user.set_password(PASSWORD)
        user.save()
    client = Client(headers={"user-agent": user_agent})
    response = client.post("/accounts/login/", {"username": user.username, "password": PASSWORD})
    assert response.status_code == 302
    return client


def read_token(client: Client) -> str:
    """Return the session token in the browser's cookie."""
    return client.cookies["sessionid"].value


def read_digest(client: Client) -> str:
    """Return the digest of the session token in the browser's cookie."""
    return hash_token(read_token(client))


def browser_with_token(token: str) -> Client:
    """Return a browser with this token in its cookie."""
    client = Client()
    client.cookies["sessionid"] = token
    return client


def read_user_name(client: Client) -> str:
    """Return the name of the logged-in user, or "" for an anonymous visitor."""
    name: str = client.get("/who/").json()["user"]
    return name


def read_session_values(client: Client) -> Any:
    """Return the values stored in the browser's session."""
    return client.get("/who/").json()["kept"]


def update_by_raw_sql(column: str, value: str | bool, user: User) -> None:
    """Change the user by raw SQL, as another program would, and drain the change to Redis."""
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE accounts_user SET {column} = %s WHERE id = %s", [value, user.pk])
    drain_all()
