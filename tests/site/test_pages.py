"""The front page and the base template."""

import re

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.models import Session, User
from catalog.local.index import local_copy
from common import clock
from common.middleware.policy import ADMIN_DIRECTIVES
from mirror.redis.recorder import record
from shop.book_views import decay
from shop.pagecache import middleware
from shop.rowcache.daemon import run_once
from social.models import Post
from tests.support.accounts.people import make_people
from tests.support.servers import PATIENCE_SECONDS
from tests.support.shop.make import make_product, make_sale
from tests.support.site.html import find_policy_violations
from tests.support.warm_mirrors import rebuild

PUBLIC = ["/", "/accounts/login/", "/accounts/register/", "/no-such-page/"]


pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("path", PUBLIC[1:])
def test_anonymous_pages_use_neither_sql_nor_redis(client: Client, path: str) -> None:
    client.get(path)  # loads templates and catalogues, once per process
    with record() as seen:
        response = client.get(path)
    assert response.status_code in (200, 404)
    assert (seen.round_trips, seen.sql) == (0, [])
    assert "sessionid" not in response.cookies


def test_the_help_lists_its_sections(client: Client) -> None:
    page = client.get("/help/").content.decode()
    named = re.findall(r'<h2 id="(\w+)">', page)
    assert len(named) == 6
    assert re.findall(r'<li><a href="#(\w+)">', page) == named[:-1]


@pytest.mark.django_db(transaction=True)
def test_sections_of_the_front_page_link_to_all_in_one_way(client: Client) -> None:
    Post.objects.create(user=User.objects.create(username="ann"), text="Hello")
    rebuild()
    page = client.get("/").content.decode()
    assert '<div class="page-head"><h2 id="said-last">Posts from readers</h2><a href="/global/">See all<' in page


@pytest.mark.django_db(transaction=True)
def test_anonymous_front_page_takes_one_round_trip(
    client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SHOP_SALE_ROW_SECONDS = 600.0  # the row stays fresh for the whole test
    now = clock.now()
    settings.CLOCK = lambda: now  # a page with a countdown lives for a second
    people = make_people([1, 2])
    Post.objects.create(user=people[1], text="Well read.")
    product = make_product("Programming Erlang", price=1250)
    make_sale(product, price=900)
    rebuild()
    decay.rebuild_popularity()
    client.get(f"/books/{product.pk}/")
    run_once()
    assert local_copy.ensure_loaded(PATIENCE_SECONDS)
    monkeypatch.setattr(middleware, "REFUSED_SECONDS", 0.0)  # the first request of a process also asks SQL
    for _ in range(2):
        client.get("/")
    with record() as seen:
        page = client.get("/").content.decode()
    assert (seen.round_trips, seen.sql) == (1, [])
    assert page.count("Programming Erlang") >= 2
    assert "€9.00" in page
    assert "reader 1" in page
    assert "Well read." in page


@pytest.mark.parametrize("path", PUBLIC)
def test_pages_have_no_inline_or_foreign_resources(client: Client, path: str) -> None:
    assert find_policy_violations(client.get(path).content.decode()) == []


@pytest.mark.parametrize("path", PUBLIC)
def test_pages_send_the_strict_content_security_policy(client: Client, path: str) -> None:
    policy = client.get(path).headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy


def test_front_page_is_equal_for_all_anonymous_visitors(client: Client) -> None:
    first, second = client.get("/"), Client().get("/")
    assert first.content == second.content
    assert b"csrfmiddlewaretoken" not in first.content
    assert "csrftoken" not in first.cookies


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_front_page_only_allows_reading(client: Client, method: str) -> None:
    assert getattr(client, method)("/").status_code == 405


def test_logged_in_user_sees_name_and_log_out(client: Client) -> None:
    client.force_login(User.objects.create_user("ken thompson"))
    page = client.get("/").content.decode()
    assert "ken thompson" in page
    assert 'action="/accounts/logout/" method="post"' in page
    assert "/admin/" not in page


def test_user_name_is_escaped(client: Client) -> None:
    client.force_login(User.objects.create(username="<b>bold</b>"))
    assert "<b>bold</b>" not in client.get("/").content.decode()


def test_ended_session_is_anonymous(client: Client) -> None:
    client.force_login(User.objects.create_user("alice"))
    Session.objects.all().delete()
    page = client.get("/").content.decode()
    assert "/accounts/logout/" not in page
    assert "/accounts/login/" in page


def test_staff_see_a_link_to_the_admin(client: Client) -> None:
    client.force_login(User.objects.create_user("bob", is_staff=True))
    assert 'href="/admin/"' in client.get("/").content.decode()


def test_only_the_admin_gets_the_wider_policy_without_inline_scripts(client: Client) -> None:
    client.force_login(User.objects.create_superuser("carol"))
    policy = client.get("/admin/").headers["Content-Security-Policy"].split("; ")
    for directive, sources in ADMIN_DIRECTIVES.items():
        assert f"{directive} {' '.join(sources)}" in policy
    assert "script-src 'self' 'unsafe-eval'" in policy
    assert "unsafe" not in client.get("/").headers["Content-Security-Policy"]


def test_admin_has_no_style_element(client: Client) -> None:
    client.force_login(User.objects.create_superuser("carol"))
    assert b"<style" not in client.get("/admin/accounts/user/").content


def test_login_page_passes_next_to_registration(client: Client) -> None:
    page = client.get("/accounts/login/?next=/books/%3Fq%3Druby").content.decode()
    assert 'href="/accounts/register/?next=%2Fbooks%2F%3Fq%3Druby"' in page


def test_the_header_marks_the_part_of_the_site(client: Client) -> None:
    book = make_product("Salt").book
    user = User.objects.create_user("rita")
    post = Post.objects.create(user=user, text="A fine book")
    guest = Client()
    client.force_login(user)
    marked = 'aria-current="page">'
    for address, link, guests_link in (
        ("/global/", "/home/", "/global/"),
        ("/people/", "/home/", ""),
        (f"/posts/{post.pk}/", "/home/", "/global/"),
        (f"/books/{book.pk}/", "/books/", "/books/"),
        ("/search/?q=salt", "/books/", "/books/"),
        ("/shop/orders/", "/accounts/", ""),
        ("/accounts/leaderboard/", "/accounts/", ""),
        ("/accounts/sessions/", "/accounts/", ""),
        ("/loginlog/", "/accounts/", ""),
        ("/notifications/", "", ""),  # the bell alone
        ("/notifications/settings/", "/accounts/", ""),
        ("/shop/cart/", "", ""),
        ("/u/rita/", "/accounts/", ""),
        ("/u/rita/shelves/", "/accounts/", ""),
        ("/lists/", "/shelves/want-to-read/", ""),
        ("/shop/sale/", "/shop/sale/", "/shop/sale/"),
    ):
        for browser, wanted in ((client, link), (guest, guests_link)):
            page = browser.get(address).content.decode()
            nav = page[page.find('<ul class="nav">') : page.find("</nav>")]
            in_nav = wanted and wanted != "/accounts/"  # the menu of the reader is not in the list
            assert (f'href="{wanted}" {marked}' in nav) if in_nav else (marked not in nav), (address, wanted)
            assert not page or 'placeholder="Search"' in page
            assert ('own-menu" aria-current="true"' in page) == (wanted == "/accounts/"), address
