"""The panel of ``?explain=1``, for developers only."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.test import Client, RequestFactory, override_settings
from pytest_django.fixtures import Settings

from accounts.models import User
from common.middleware.explain import ExplainMiddleware, build_context
from mirror.redis.clients import client as redis_client
from mirror.redis.recorder import Command, Recording, record

pytestmark = pytest.mark.django_db

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
def test_panel_shows_round_trips_commands_keys_and_sql() -> None:
    panel = _explained().content.decode()
    assert "2 round trips to Redis" in panel
    assert "3 commands" in panel
    assert "1 SQL statement (" in panel
    assert "GET book:7" in panel
    assert panel.count("<li><ol>") == 2
    assert "accounts_user" in panel
    assert panel.endswith("</body></html>")


@pytest.mark.usefixtures("debug")
def test_panel_escapes_html() -> None:
    panel = _explained().content
    assert b"<b>ruby" not in panel
    assert b"&lt;b&gt;ruby" in panel


@pytest.mark.usefixtures("debug")
def test_page_with_the_panel_is_not_stored() -> None:
    assert _explained().headers["Cache-Control"] == "no-store"


@pytest.mark.usefixtures("debug")
@pytest.mark.parametrize("query", ["", "explain=0", "explain=yes", "explain="])
def test_only_the_value_1_shows_the_panel(query: str) -> None:
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
def test_json_fragments_and_compressed_responses_are_unchanged(response: HttpResponse) -> None:
    before = response.content
    assert _explained(lambda request: response).content == before


@pytest.mark.usefixtures("debug")
def test_streams_are_unchanged() -> None:
    stream = StreamingHttpResponse(iter([b"<body></body>"]))
    assert _explained(lambda request: stream) is stream


def test_parameter_does_nothing_for_anonymous_visitors(client: Client) -> None:
    for _ in range(2):  # the process learns from the first request which keys to read together
        client.get("/")
    with record() as without:
        plain = client.get("/?explain=0").content
    with record() as seen:
        explained = client.get("/?explain=1").content
    # Links and forms lead back to the full address; the pages are otherwise equal.
    assert explained == plain.replace(b"explain=0", b"explain=1").replace(b"explain%3D0", b"explain%3D1")
    assert (seen.round_trips, len(seen.sql)) == (without.round_trips, len(without.sql))


def test_staff_see_the_panel_and_readers_do_not(client: Client) -> None:
    client.force_login(User.objects.create_user("alice"))
    assert TITLE not in client.get("/?explain=1").content
    client.force_login(User.objects.create_user("bob", is_staff=True))
    page = client.get("/?explain=1").content
    assert TITLE in page
    assert b"accounts_session" in page


@override_settings(DEBUG=True)
def test_debug_shows_the_panel_to_every_visitor(client: Client) -> None:
    assert TITLE in client.get("/?explain=1").content


def test_long_commands_are_truncated() -> None:
    seen = Recording(1, [Command("MGET", ("x" * 10_000,), 1)], [("y" * 10_000, 0.5)])
    shown = build_context(seen)
    assert len(str(shown)) < 12_000
