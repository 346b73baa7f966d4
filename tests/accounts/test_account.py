"""The account page."""

import re

import pytest
from django.test import Client
from django.utils import timezone

from accounts import services
from accounts.models import EmailChange, LoginStats, User
from accounts.users.account import read_logins
from mirror.redis.recorder import record
from mirror.relay import drains
from tests.support.servers import RedisServer
from tests.support.site.html import find_policy_violations
from tests.support.warm_mirrors import rebuild

PATH = "/accounts/"

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice", email="alice@example.org")


@pytest.fixture
def here(alice: User) -> Client:
    client = Client()
    client.force_login(alice)
    return client


def warm() -> None:
    rebuild()
    drains.drain_all()


def page(client: Client, language: str = "en") -> str:
    return client.get(PATH, headers={"Accept-Language": language}).content.decode()


def test_the_page_shows_name_address_and_links(here: Client, alice: User) -> None:
    services.record_login(alice)
    found = page(here)
    assert '<span class="value" dir="auto">alice</span>' in found
    assert '<a href="/u/alice/">View profile</a>' in found
    assert "alice@example.org" in found
    for link in ("email", "password_change", "sessions", "factors"):
        assert f'href="/accounts/{link}/"' in found
    main = found[found.index("<main") :]
    assert main.index('action="/accounts/logout/" method="post"') < main.index('class="rows lined"')


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_rows_have_one_pattern_in_sections(here: Client, language: str) -> None:
    found = page(here, language)
    titles = re.findall(r'<h2 id="[a-z]+">(.*?)</h2>', found)
    assert len(titles) == 5
    if language == "en":
        assert titles == ["Profile", "Orders", "Settings", "Security", "Data"]
    cards = found.partition('<div class="account-cards tiles">')[2].partition("</main>")[0]
    rows = re.findall(r"<li>(<a [^>]*>.*?</a>)", cards)
    assert len(rows) == 18
    for row in rows:  # an icon, a title, and perhaps a value
        link = r'<a href="/[^"]+"><svg class="icon".*?</svg><span>[^<]+</span>( <span class="value|</a>)'
        assert re.match(link, row), row


@pytest.mark.parametrize("is_warm", [True, False])
def test_redis_and_sql_give_the_same_logins(alice: User, is_warm: bool) -> None:
    at = timezone.now()
    LoginStats.objects.create(user=alice, login_times=1234, last_login_time=at)
    if is_warm:
        warm()
    with record() as seen:
        assert read_logins(alice.pk) == (1234, at)
    assert len(seen.sql) == (0 if is_warm else 1)


@pytest.mark.parametrize("is_warm", [True, False])
def test_a_user_without_logins_has_no_last_login(alice: User, is_warm: bool) -> None:
    if is_warm:
        warm()
    assert read_logins(alice.pk) == (0, None)


def test_the_page_tells_that_an_address_is_missing(here: Client, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(email="")
    found = page(here)
    assert "Not set" in found
    assert "you cannot reset a forgotten password" in found


def test_an_unverified_address_is_escaped(here: Client, alice: User) -> None:
    EmailChange.objects.create(user=alice, email="<i>@example.org")
    assert "&lt;i&gt;@example.org is not verified yet" in page(here)


def test_a_warm_page_costs_one_round_trip_and_one_query(here: Client) -> None:
    warm()
    page(here)
    with record() as seen:
        page(here)
    assert (seen.round_trips, len(seen.sql)) == (1, 1)
    assert "email" in seen.sql[0][0]


def test_the_page_is_not_cached(here: Client) -> None:
    assert here.get(PATH).headers["Cache-Control"] == "private, no-cache"


def test_anonymous_visitors_are_redirected_to_login(client: Client) -> None:
    assert client.get(PATH).headers["Location"] == f"/accounts/login/?next={PATH}"


def test_post_is_not_allowed(here: Client) -> None:
    assert here.post(PATH).status_code == 405


def test_the_page_works_without_redis(here: Client, alice: User, redis_server: RedisServer) -> None:
    services.record_login(alice)
    redis_server.kill()
    assert "alice@example.org" in page(here)


@pytest.mark.parametrize(
    "path",
    [
        PATH,
        "/accounts/delete/",
        "/accounts/download/",
        "/accounts/email/",
        "/accounts/email/x/",
        "/accounts/password_change/",
        "/accounts/reset/x/y-z/",
    ],
)
def test_pages_have_no_inline_or_external_resources(here: Client, path: str) -> None:
    assert find_policy_violations(here.get(path).content.decode()) == []


def test_the_name_in_the_header_links_to_the_page(here: Client) -> None:
    assert 'popovertarget="own-menu"' in here.get("/").content.decode()
