"""Writing and deleting posts."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, Route, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from social.models import Post
from social.services.posts import create_post
from tests.browser.conftest import PHONE, Audit, OpenPage
from tests.support.catalog.make import make_book
from tests.support.social.timelines import warm_up
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)
FAMILY = "👩‍👩‍👧‍👦"


def log_in(page: Page, name: str, next_address: str) -> None:
    """Log in and continue to a page."""
    page.goto(f"/accounts/login/?next={next_address}")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill("a quiet bookshop")
    page.get_by_role("main").get_by_role("button", name="Log in").click()
    page.wait_for_url(f"**{next_address}")


@pytest.fixture
def alice() -> User:
    """Create a user with a warm home timeline."""
    user = User.objects.create_user("alice", password="a quiet bookshop")
    warm_up(user)
    return user


@pytest.mark.parametrize("options", [{}, {"java_script_enabled": False}])
def test_new_post_is_on_top_at_once(open_page: OpenPage, alice: User, options: dict[str, Any]) -> None:
    create_post(alice.pk, "the first")
    page = open_page(**options)
    log_in(page, "alice", "/home/")
    page.get_by_label("What are you reading?").fill("the <second> #one\n@alice")
    page.get_by_role("button", name="Post", exact=True).click()
    expect(page.locator(".posts > li")).to_have_count(2)
    expect(page.locator(".posts > li").first).to_contain_text("the <second> #one")
    expect(page.get_by_label("What are you reading?")).to_have_value("")
    page.get_by_label("What are you reading?").fill("the third")
    page.get_by_role("button", name="Post", exact=True).click()
    expect(page.locator(".posts > li").first).to_contain_text("the third")
    assert Post.objects.count() == 3


def test_the_form_is_one_line_until_it_has_the_focus(person: Page, plain: Page, alice: User) -> None:
    for page, is_short in ((person, True), (plain, False)):
        log_in(page, "alice", "/home/")
        button = page.get_by_role("button", name="Post", exact=True)
        expect(button).to_be_visible(visible=not is_short)
        page.get_by_label("What are you reading?").focus()
        expect(button).to_be_visible()
        page.get_by_label("What are you reading?").blur()
        expect(button).to_be_visible()  # nothing below it moves away from the pointer


def test_the_feeds_are_tabs_of_one_row(person: Page, alice: User) -> None:
    log_in(person, "alice", "/home/")
    person.set_viewport_size(PHONE)
    tabs = person.get_by_role("navigation", name="Feeds")
    expect(tabs.get_by_role("link", name="Following")).to_have_attribute("aria-current", "page")
    assert tabs.evaluate("tabs => tabs.scrollWidth <= tabs.clientWidth")
    tabs.get_by_role("link", name="Everyone").click()
    person.wait_for_url("**/global/")
    expect(tabs.get_by_role("link", name="Everyone")).to_have_attribute("aria-current", "page")


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_posts_show_their_age(open_page: OpenPage, language: str, live_server: LiveServer) -> None:
    """The HTML contains the day; JavaScript replaces it by the age, and keeps that up to date, or by the local time."""
    user, now = User.objects.create_user("alice"), timezone.now()
    ages = [timedelta(days=400), timedelta(days=3, hours=1), timedelta(hours=5, minutes=9), timedelta(seconds=1)]
    for age in ages:
        create_post(user.pk, "hello", created_at=now - age)
    exact = open_page(java_script_enabled=False)
    page = open_page(reuse=False)
    page.clock.install(time=now - timedelta(hours=1))
    page.clock.pause_at(now)
    for each in (exact, page):
        each.context.add_cookies([{"name": "django_language", "value": language, "url": live_server.url}])
        each.goto("/global/")
    days = exact.locator(".post-time time").all_inner_texts()
    assert [str((now - age).year) in day for age, day in zip(reversed(ages), days, strict=True)] == [True] * 4
    shown = page.locator(".post-time time")
    ago = {"en": ["just now", "5 hours ago", "3 days ago"], "zh-hans": ["刚刚", "5 小时前", "3 天前"]}[language]
    locale = {"en": "en-GB"}.get(language, language)
    full = f"time => new Intl.DateTimeFormat('{locale}', {{dateStyle: 'medium', timeStyle: 'short'}})"
    said = [each.evaluate(f"{full}.format(Date.parse(time.dateTime))") for each in shown.all()]
    times = [text.replace("Sept ", "Sep ") for text in said]  # as the server writes it
    expect(shown).to_have_text([*ago, days[-1]])
    assert [each.get_attribute("title") for each in shown.all()] == times
    page.clock.run_for(120_000)
    expect(shown.first).to_have_text({"en": "2 minutes ago", "zh-hans": "2 分钟前"}[language])


def test_first_post_replaces_the_empty_message(open_page: OpenPage, alice: User) -> None:
    page = open_page()
    log_in(page, "alice", "/home/")
    expect(page.locator(".posts-empty")).to_be_visible()
    page.get_by_label("What are you reading?").fill("hello")
    page.get_by_role("button", name="Post", exact=True).click()
    expect(page.locator(".posts > li")).to_have_count(1)
    expect(page.locator(".posts-empty")).to_be_hidden()


@pytest.mark.parametrize("options", [{}, {"java_script_enabled": False}])
def test_long_text_is_kept_and_its_excess_shown(open_page: OpenPage, alice: User, options: dict[str, Any]) -> None:
    page = open_page(**options)
    log_in(page, "alice", "/home/")
    text = FAMILY + "é" * 500
    page.get_by_label("What are you reading?").fill(text)
    page.get_by_role("button", name="Post", exact=True).click()
    expect(page.get_by_text("The text has 501 characters. The maximum is 500: remove 1.")).to_be_visible()
    expect(page.get_by_label("What are you reading?")).to_have_value(text)
    assert not Post.objects.exists()


def test_characters_are_counted_while_typing(open_page: OpenPage, alice: User) -> None:
    page = open_page()
    log_in(page, "alice", "/home/")
    count = page.locator(".composer-count")
    expect(count).to_be_hidden()
    page.get_by_label("What are you reading?").fill(f" {FAMILY} e\u0301 ")
    expect(count).to_have_text("3 / 500")
    page.get_by_label("What are you reading?").fill("\ufeffin\u200bvi\u202esi\u00adble 한국 🇩🇪🇫🇷 क्ष")
    expect(count).to_have_text("17 / 500")
    page.get_by_label("What are you reading?").fill("x" * 501)
    expect(count).to_have_class("composer-count over")
    page.get_by_label("What are you reading?").fill("")
    expect(count).to_be_hidden()


def test_nothing_moves_when_the_count_appears(open_page: OpenPage, alice: User) -> None:
    create_post(alice.pk, "a text")
    page = open_page(viewport=PHONE)
    log_in(page, "alice", "/home/")
    page.goto(f"/posts/{Post.objects.get().pk}/edit/")
    form = page.locator(".composer")
    expect(form.locator(".composer-count")).to_have_text("6 / 500")
    shown = form.bounding_box()
    page.get_by_label("Text", exact=True).fill("")
    expect(form.locator(".composer-count")).to_be_hidden()
    assert form.bounding_box() == shown


@pytest.mark.parametrize("options", [{}, {"java_script_enabled": False}])
def test_double_click_posts_once(open_page: OpenPage, alice: User, options: dict[str, Any]) -> None:
    page = open_page(**options)
    log_in(page, "alice", "/home/")
    page.get_by_label("What are you reading?").fill("hello")
    page.get_by_role("button", name="Post", exact=True).dblclick()
    expect(page.locator(".posts > li")).to_have_count(1)
    expect(page.get_by_label("What are you reading?")).to_have_value("")
    assert Post.objects.count() == 1


def test_refused_background_request_is_sent_as_a_form(open_page: OpenPage, alice: User) -> None:
    page = open_page(reuse=False)
    page.add_init_script("console.error = () => {}")  # htmx logs the refusal
    log_in(page, "alice", "/home/")
    keys: list[str | None] = []

    def refuse(route: Route) -> None:
        keys.append(route.request.post_data)
        if route.request.resource_type == "document":
            route.continue_()
        else:
            route.fulfill(status=403)

    page.route("**/posts/", refuse)
    page.get_by_label("What are you reading?").fill("hello")
    page.get_by_role("button", name="Post", exact=True).click()
    expect(page.locator(".posts > li")).to_have_count(1)
    assert len(keys) == 2
    assert keys[0] == keys[1]


def test_post_about_a_book_is_shown_and_deleted(open_page: OpenPage, alice: User) -> None:
    book = make_book("Emma")
    page = open_page(java_script_enabled=False)
    log_in(page, "alice", f"/books/{book.pk}/")
    page.get_by_label("What do you think of “Emma”?").fill("Clever and rich")
    page.get_by_role("button", name="Post", exact=True).click()
    expect(page.locator(".said .posts")).to_contain_text("Clever and rich")
    page.goto("/global/")
    expect(page.locator(".post-book")).to_contain_text("About Emma")
    page.get_by_role("link", name="Delete").click()
    expect(page.get_by_role("heading", name="Delete this post?")).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Your post was deleted.")).to_be_visible()
    page.goto(f"/books/{book.pk}/")
    expect(page.get_by_label("What do you think of “Emma”?")).to_be_visible()
    expect(page.get_by_text("Clever and rich")).to_have_count(0)


def test_post_pages_are_accessible_and_fit(open_page: OpenPage, alice: User, audit: Audit) -> None:
    book = make_book("Emma", tags="classic", authors="Jane Austen")
    made = create_post(alice.pk, "To @alice: https://a.example/ #emma " + "long" * 90, book_id=book.pk)
    page = open_page(viewport=PHONE)
    log_in(page, "alice", "/home/")
    page.get_by_label("What are you reading?").fill("x" * 501)
    page.get_by_role("button", name="Post", exact=True).click()
    page.get_by_text("remove 1").wait_for()
    assert audit(page) == []
    one = f"/posts/{made.pk}/"
    for path in (one, f"{one}delete/", "/tags/emma/", "/mentions/", f"/books/{book.pk}/", f"/books/{book.pk}/posts/"):
        page.goto(path)
        assert audit(page) == [], path


@pytest.mark.parametrize("options", [{}, {"java_script_enabled": False}])
def test_a_book_is_attached_by_keyboard(open_page: OpenPage, alice: User, options: dict[str, Any]) -> None:
    book = make_book("Northanger Abbey", authors="Jane Austen")
    rebuild()
    page = open_page(**options)
    log_in(page, "alice", "/home/")
    page.get_by_label("What are you reading?").fill("a castle!")
    page.get_by_text("Attach a book").press("Enter")
    search = page.get_by_label("Title, author or ISBN of the book")
    if options:
        search.fill("northanger")
        search.press("Enter")
    else:
        search.press_sequentially("northan")
    choice = page.get_by_role("radio", name="Northanger Abbey")
    choice.press("Space")
    expect(page.get_by_label("What are you reading?")).to_have_value("a castle!")
    page.get_by_role("button", name="Post", exact=True).press("Enter")
    expect(page.locator(".posts > li").first).to_contain_text("Northanger Abbey")
    assert Post.objects.get().book_id == book.pk


def test_a_name_with_a_blank_is_completed_by_keyboard(open_page: OpenPage, alice: User, audit: Audit) -> None:
    User.objects.create_user("Bo Lindqvist")
    User.objects.create_user("Bodo")
    rebuild()
    page = open_page()
    log_in(page, "alice", "/home/")
    text = page.get_by_label("What are you reading?")
    text.press_sequentially("hello @Bo L")
    expect(page.get_by_role("option")).to_have_text(["Bo Lindqvist"])
    audit(page)
    text.press("Enter")
    expect(text).to_have_value("hello @Bo Lindqvist ")
    text.press_sequentially("and @bo")
    expect(page.get_by_role("option")).to_have_count(2)
    text.press("Escape")
    text.press("Enter")
    text.press_sequentially("bye")
    expect(text).to_have_value("hello @Bo Lindqvist and @bo\nbye")
