"""While Redis is away, anonymous readers of long lists wait first."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings as site
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import Resolver404, resolve, reverse
from pytest_django.fixtures import Settings

from accounts.models import User
from common.middleware.shedding import ShedLoadMiddleware
from mirror.redis.clients import breaker

pytestmark = pytest.mark.django_db


@pytest.fixture
def full(settings: Settings) -> Iterator[Client]:
    """Return an anonymous client of a process without a place for a long list, while Redis is away."""
    settings.SHED_LISTS = 1
    client = Client()
    middleware = _find(client)
    breaker.failed()
    assert middleware._places.acquire(blocking=False)
    yield client
    middleware._places.release()


def _find(client: Client) -> ShedLoadMiddleware:
    """Return the middleware of a client, which has its own handler."""
    handler: Any = client.handler
    handler.load_middleware()
    return next(found for m in handler._view_middleware if isinstance(found := m.__self__, ShedLoadMiddleware))


def test_anonymous_lists_are_refused_with_the_time_to_wait(full: Client) -> None:
    response = full.get("/books/")
    assert (response.status_code, response.headers["Retry-After"]) == (503, str(site.SHED_RETRY_SECONDS))
    assert response.headers["Cache-Control"] == "no-store"
    assert full.get("/books/", headers={"accept": "application/json"}).json() == {
        "error": {"message": "The site is busy"}
    }


def test_other_pages_and_logged_in_readers_are_answered(full: Client) -> None:
    assert full.get("/accounts/login/").status_code == 200
    full.force_login(User.objects.create_user("alice"))
    assert full.get("/books/").status_code == 200


def test_lists_are_not_limited_while_redis_answers(full: Client) -> None:
    breaker.reset()
    assert full.get("/books/").status_code == 200


def test_a_place_is_free_again_after_the_answer_and_after_an_error(settings: Settings, rf: RequestFactory) -> None:
    settings.SHED_LISTS = 1
    breaker.failed()

    def answer(request: HttpRequest) -> HttpResponse:
        request.resolver_match = resolve("/books/")
        assert middleware.process_view(request) is None
        if request.GET:
            raise Resolver404
        return HttpResponse()

    middleware = ShedLoadMiddleware(answer)
    middleware(rf.get("/books/"))
    with pytest.raises(Resolver404):
        middleware(rf.get("/books/?error=1"))
    middleware(rf.get("/books/"))


def test_shed_views_exist() -> None:
    named: dict[str, list[Any]] = {"author": [1], "social:book_posts": [1], "social:author_posts": [1]}
    named |= {f"social:{name}": ["x"] for name in ("hashtag", "followers", "following")}
    assert all(reverse(name, args=named.get(name, [])) for name in site.SHED_VIEWS)
