"""``?explain=1``: a developer sees what made the page, and nobody else sees anything."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.test import Client, RequestFactory, override_settings
from pytest_django.fixtures import Settings

from accounts.models import User
from config.explain import ExplainMiddleware, describe
from mirror.recorder import Command, Recording, record
from mirror.redis import client as redis_client

pytestmark = [pytest.mark.django_db, pytest.mark.on_sqlite]

TITLE = b"Behind this page"


def _page(request: HttpRequest) -> HttpResponse:
    pipe = redis_client().pipeline(transaction=False)
    pipe.get("book:7")
    pipe.smembers("{tag}:<b>ruby</b>")
    pipe.execute()
    redis_client().get("last")
    User.objects.filter(username="<i>").exists()
    return HttpResponse("<html><body><p>A page</p></body></html>")


def _explained(view=_page, query: str = "explain=1") -> HttpResponse:  # type: ignore[no-untyped-def]
    request = RequestFactory().get(f"/?{query}")
    request.user = AnonymousUser()
    return ExplainMiddleware(view)(request)


@pytest.fixture
def debug(settings: Settings) -> None:
    settings.DEBUG = True


@pytest.mark.usefixtures("debug")
def test_the_panel_shows_round_trips_commands_keys_and_sql() -> None:
    panel = _explained().content.decode()
    assert "2 round trips to Redis" in panel
    assert "3 commands" in panel
    assert "1 SQL statement (" in panel
    assert "GET book:7" in panel
    assert panel.count("<li><ol>") == 2
    assert "accounts_user" in panel
    assert panel.endswith("</body></html>")


@pytest.mark.usefixtures("debug")
def test_what_it_shows_is_text() -> None:
    panel = _explained().content
    assert b"<b>ruby" not in panel
    assert b"&lt;b&gt;ruby" in panel


@pytest.mark.usefixtures("debug")
def test_a_page_with_the_panel_is_not_kept() -> None:
    assert _explained().headers["Cache-Control"] == "no-store"


@pytest.mark.usefixtures("debug")
@pytest.mark.parametrize("query", ["", "explain=0", "explain=yes", "explain="])
def test_only_one_says_yes(query: str) -> None:
    assert TITLE not in _explained(query=query).content


@pytest.mark.usefixtures("debug")
@pytest.mark.parametrize(
    "response",
    [
        JsonResponse({"html": "</body>"}),
        HttpResponse("<p>part of a page</p>"),
        HttpResponse("</body>", headers={"Content-Encoding": "gzip"}),
    ],
)
def test_what_is_no_page_is_left_alone(response: HttpResponse) -> None:
    before = response.content
    assert _explained(lambda request: response).content == before


@pytest.mark.usefixtures("debug")
def test_a_stream_is_left_alone() -> None:
    stream = StreamingHttpResponse(iter([b"<body></body>"]))
    assert _explained(lambda request: stream) is stream


def test_for_a_stranger_the_parameter_does_nothing(client: Client) -> None:
    client.get("/")
    with record() as without:
        plain = client.get("/?explain=0").content
    with record() as seen:
        explained = client.get("/?explain=1").content
    # Links and forms lead back to the whole address; nothing else tells the pages apart.
    assert explained == plain.replace(b"explain=0", b"explain=1").replace(b"explain%3D0", b"explain%3D1")
    assert (seen.round_trips, len(seen.sql)) == (without.round_trips, len(without.sql))


def test_a_reader_sees_no_panel_and_staff_do(client: Client) -> None:
    client.force_login(User.objects.create_user("alice"))
    assert TITLE not in client.get("/?explain=1").content
    client.force_login(User.objects.create_user("bob", is_staff=True))
    page = client.get("/?explain=1").content
    assert TITLE in page
    assert b"accounts_session" in page


@override_settings(DEBUG=True)
def test_under_debug_everybody_sees_it(client: Client) -> None:
    assert TITLE in client.get("/?explain=1").content


def test_long_commands_are_cut() -> None:
    seen = Recording(1, [Command("MGET", ("x" * 10_000,), 1)], [("y" * 10_000, 0.5)])
    shown = describe(seen)
    assert len(str(shown)) < 12_000
