"""Redis hangs: logins take at most a second, and too many failures still cause a lock-out."""

import re
from urllib.error import HTTPError

import pytest

from accounts.lockout.models import FailedLogins
from accounts.models import User
from tests.support.faults.crew import Crew
from tests.support.faults.web import Web
from tests.support.servers import RedisServer

LOGIN = "/accounts/login/"
PASSWORD = "a quiet bookshop"

pytestmark = pytest.mark.slow


def form(web: Web, name: str, password: str) -> dict[str, str]:
    """Return the data of the login form, with the page's CSRF token."""
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', web.ask(LOGIN))
    assert token
    return {"csrfmiddlewaretoken": token[1], "username": name, "password": password, "next": "/books/"}


def status(web: Web, name: str, password: str) -> int:
    """Return the status code of a login attempt from a new browser."""
    web.new_visitor()
    try:
        web.ask(LOGIN, form(web, name, password))
    except HTTPError as error:
        return error.code
    return 200


@pytest.fixture
def web(transactional_db: None, broker_server: RedisServer, crew: Crew) -> Web:
    User.objects.create_user("alice", password=PASSWORD)
    User.objects.create_user("bob", password=PASSWORD)
    site = Web(crew)
    site.fetch(LOGIN)
    return site


def test_logins_and_lock_outs_work_while_redis_hangs(
    web: Web, redis_server: RedisServer, broker_server: RedisServer
) -> None:
    redis_server.freeze()
    broker_server.freeze()
    assert [status(web, "alice", "wrong") for _ in range(6)] == [200] * 5 + [429]
    assert status(web, "alice", PASSWORD) == 429
    assert FailedLogins.objects.get(kind="pair", name="alice").count == 5
    web.new_visitor()
    assert "bob" in web.ask(LOGIN, form(web, "bob", PASSWORD))
    assert User.objects.get(username="bob").login_stats.login_times == 1
