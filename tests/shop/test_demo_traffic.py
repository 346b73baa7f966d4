"""Simulated visitors on the live site: each of their actions takes effect."""

import io
from threading import Event
from urllib.request import Request

import orjson
import pytest
from django.core.management import call_command
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from catalog.models import Tag
from demo.browser import SameOriginRedirectHandler, SiteUnavailable
from demo.traffic import Visitor
from mirror.relay.drains import drain_all
from shop.models import Order, OrderState, Product
from social.models import Follow, Post
from tests.support.servers import free_port
from tests.support.shop.make import make_product
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def no_logins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start without noted logins."""
    monkeypatch.setattr("demo.logins.notes.read_note", lambda name: {})


@pytest.fixture
def products() -> list[Product]:
    """Three books of a tag that must be quoted in URLs."""
    found = [make_product(f"Book {n}", stock=50) for n in range(3)]
    tag = Tag.objects.create(name="found family")
    for product in found:
        product.book.tags.add(tag)
    rebuild()
    drain_all()
    return found


@pytest.fixture
def visitor(live_server: LiveServer, products: list[Product]) -> Visitor:
    return Visitor(live_server.url, 1, None, Event())


def test_a_visitor_registers_searches_buys_and_posts(visitor: Visitor) -> None:
    visitor.log_in_or_register()
    for _ in range(3):
        visitor.search()
    visitor.look()
    visitor.view_public_page()
    visitor.fill_cart()
    visitor.buy()
    visitor.say()
    assert visitor.done == {
        "registered": 1, "searches": 3, "books looked at": 1, "other pages": 1, "put into a cart": 1, "orders": 1,
        "posts": 1,
    }  # fmt: skip
    user = User.objects.get(username__startswith="visitor ")
    assert Order.objects.get(user=user).state == OrderState.PAID
    assert Post.objects.get().user == user


def test_a_visitor_logs_in_and_follows_an_author_of_a_post(
    visitor: Visitor, live_server: LiveServer, products: list[Product]
) -> None:
    visitor.log_in_or_register()
    visitor.say()
    User.objects.create_user("demo-shopper", password="a long pass phrase")
    other = Visitor(live_server.url, 2, ("demo-shopper", "a long pass phrase"), Event())
    other.log_in_or_register()
    drain_all()
    other.follow()
    assert other.done == {"logged in": 1, "follows": 1}
    assert Follow.objects.get().follower.username == "demo-shopper"


def test_refused_actions_are_reported(live_server: LiveServer, products: list[Product]) -> None:
    visitor = Visitor(live_server.url, 1, ("nobody", "wrong"), Event())
    visitor.log_in_or_register()
    assert visitor.done == {"refused: logged in": 1}
    Product.objects.update(stock=0)
    drain_all()
    visitor.search()
    visitor.buy()  # an anonymous visitor fills a cart instead
    assert not Order.objects.exists()


def _run(url: str, *arguments: str) -> tuple[int, dict[str, object], str]:
    out, err = io.StringIO(), io.StringIO()
    code = 0
    try:
        call_command("demo_traffic", "--url", url, "--json", *arguments, stdout=out, stderr=err)
    except SystemExit as stop:
        code = int(stop.code or 0)
    return code, orjson.loads(out.getvalue() or "{}"), err.getvalue()


def test_the_command_stops_and_reports_its_actions(
    live_server: LiveServer, products: list[Product], settings: Settings
) -> None:
    settings.DEBUG = True
    code, said, _ = _run(live_server.url, "--users", "2", "--seconds", "1")
    assert (code, said["errors"], said["users"]) == (0, {}, 2)
    assert said["done"] == said["done"] | {"registered": 2}  # type: ignore[operator]
    assert User.objects.filter(username__startswith="visitor ").count() == 2


def test_a_real_payment_provider_requires_confirmation(live_server: LiveServer, settings: Settings) -> None:
    settings.PAYMENT_PROVIDER = "tests.shop.unreliable_provider.Remote"
    code, _, said = _run(live_server.url, "--seconds", "1")
    assert code == 2
    assert "add --yes" in said


def test_an_unreachable_site_is_reported(settings: Settings) -> None:
    settings.DEBUG = True
    for url, why in (
        (f"http://127.0.0.1:{free_port()}", "is not responding"),
        ("ftp://here", "is not the address of a site"),
    ):
        code, _, said = _run(url)
        assert (code, why in said) == (2, True)


def test_simulated_visitors_never_leave_the_site() -> None:
    """This also holds for redirects."""
    stays = SameOriginRedirectHandler("http://127.0.0.1:8000")
    here = Request("http://127.0.0.1:8000/")
    for away in ("http://elsewhere.example/", "https://127.0.0.1:8000/", "http://127.0.0.1:8001/"):
        with pytest.raises(SiteUnavailable, match="leads away"):
            stays.redirect_request(here, None, 302, "", {}, away)
    assert stays.redirect_request(here, None, 302, "", {}, "http://127.0.0.1:8000/books/") is not None
