"""Theme, language and layout in every width, with accessibility checks."""

import re
from typing import Literal

import pytest
from playwright.sync_api import Page, Route, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from catalog.models import Author, Book
from mirror.relay.drains import drain_all
from social.profiles.services import add_favourite
from social.services.likes import like_post
from social.services.posts import create_post
from tests.browser.conftest import (
    PAPER,
    PHONE,
    Audit,
    OpenPage,
    find_overflows,
    open_own_menu,
    read_paper,
    resize,
    settled,
    text_size,
)
from tests.browser.test_loginlog import sign_in
from tests.support.accounts.people import make_people, warm_users
from tests.support.servers import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def paper(page: Page) -> str:
    settled(page)
    return read_paper(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_system_theme_is_the_default(open_page: OpenPage, scheme: Literal["light", "dark"]) -> None:
    page = open_page(color_scheme=scheme)
    page.goto("/")
    assert paper(page) == PAPER[scheme]


@pytest.mark.parametrize("java_script", [True, False])
def test_theme_can_be_chosen_and_reset(open_page: OpenPage, java_script: bool) -> None:
    page = open_page(color_scheme="light", java_script_enabled=java_script)
    page.goto("/books/?sort=title")
    page.get_by_role("button", name="Dark").click()
    expect(page).to_have_url("/books/?sort=title")
    expect(page.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")
    assert paper(page) == PAPER["dark"]
    page.goto("/")
    assert paper(page) == PAPER["dark"]
    page.get_by_role("button", name="System").click()
    expect(page.get_by_role("button", name="System")).to_have_attribute("aria-pressed", "true")
    assert paper(page) == PAPER["light"]


def test_menu_of_a_reader_with_a_long_name_fits_on_a_phone(open_page: OpenPage, live_server: LiveServer) -> None:
    user = User.objects.create_superuser("Maximiliana Featherstonehaugh", password=None)
    page = sign_in(open_page(viewport=PHONE), user, live_server)
    page.goto("/books/")
    menu = open_own_menu(page)
    expect(menu.get_by_text("Maximiliana Featherstonehaugh")).to_be_visible()
    expect(menu.get_by_role("button", name="Log out")).to_be_in_viewport()
    assert find_overflows(page, [PHONE["width"]]) == []
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()


def test_button_of_a_slow_form_is_busy(open_page: OpenPage) -> None:
    """The animation respects reduced motion, and ends after a while because the response may be a file."""
    page = open_page(reduced_motion="no-preference", reuse=False)
    page.clock.install()
    page.goto("/accounts/login/")
    page.route("**/accounts/login/", lambda route: route.fulfill(status=204))  # the browser stays on the page
    page.get_by_label("Name").fill("alice")
    page.get_by_label("Password").fill("a wrong password")
    page.get_by_label("Password").press("Enter")
    button = page.get_by_role("main").get_by_role("button", name="Log in")
    expect(button).to_have_attribute("aria-busy", "true")
    pulses = "button => button.getAnimations().some(each => each.animationName === 'busy')"
    assert button.evaluate(pulses)
    page.emulate_media(reduced_motion="reduce")
    assert not button.evaluate(pulses)
    page.clock.run_for(11_000)
    expect(button).not_to_have_attribute("aria-busy", "true")


def test_more_link_is_busy_until_the_response_arrives(open_page: OpenPage) -> None:
    author = User.objects.create_user("alice")
    for number in range(60):
        create_post(author.pk, f"post {number}")
    drain_all()
    page, held = open_page(reuse=False), list[Route]()
    page.goto("/global/")
    settled(page)
    page.route(re.compile("after="), lambda route: held.append(route))
    more = page.get_by_role("link", name="Older posts")
    more.click()
    expect(more).to_have_class(re.compile("htmx-request"))
    assert more.evaluate("more => getComputedStyle(more).animationName") == "busy"
    held[0].continue_()
    expect(page.locator(".htmx-request")).to_have_count(0)


@pytest.mark.parametrize("java_script", [True, False])
def test_language_can_be_chosen(open_page: OpenPage, java_script: bool) -> None:
    page = open_page(java_script_enabled=java_script)
    page.goto("/")
    page.get_by_role("button", name="简体中文").click()
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    page.get_by_role("button", name="English").click()
    expect(page.locator("html")).to_have_attribute("lang", "en")


def test_header_is_one_row_and_phones_have_a_bar_at_the_bottom(open_page: OpenPage, live_server: LiveServer) -> None:
    page = sign_in(open_page(), User.objects.create(username="alice"), live_server)
    page.goto("/books/")
    for width in (320, 390, 768, 1024, 1280):
        assert find_overflows(page, [width]) == []
        links = [link.bounding_box() for link in page.locator(".nav a:visible, .own-button").all()]
        head, height = page.locator(".head").bounding_box(), page.evaluate("innerHeight")
        assert head
        assert len(links) == (5 if width < 896 else 6)
        assert page.get_by_text("Me", exact=True).is_visible() == (width < 896)
        assert head["height"] <= 58, width  # with its border
        for box in links:
            assert box
            assert box["x"] + box["width"] <= width
            assert box["y"] + box["height"] == height if width < 896 else box["y"] < head["height"], width


@pytest.mark.parametrize("address", ["/", "/books/"])
def test_links_of_a_visitor_end_where_the_page_ends(open_page: OpenPage, address: str) -> None:
    page = open_page(viewport={"width": 1280, "height": 720})
    page.goto(address)
    end = "e => e.getBoundingClientRect().right - parseFloat(getComputedStyle(e).paddingRight)"
    assert abs(page.locator(".person").evaluate(end) - page.locator(".head .wide").evaluate(end)) <= 9


PAGES = [
    "/",
    "/books/",
    "/books/?q=fantasy+%26+young-adult",
    "/books/?q=fantasy+%26",
    "/books/?q=a-tag-that-is-as-long-as-a-window-is-wide-and-longer+%26+%26+another-one-of-that-kind-and-more",
    "/books/?q=nothing-has-this",
    "/books/{book}/",
    "/books/{long}/",
]


def test_public_pages_are_accessible_and_fit(open_page: OpenPage, audit: Audit, books: list[Book]) -> None:
    title = "Donaudampfschifffahrtsgesellschaftskapitänswitwe" * 3
    Book.objects.filter(pk=books[0].pk).update(title=title)
    drain_all()
    page = open_page()
    for path in PAGES:
        page.goto(path.format(long=books[0].pk, book=books[1].pk))
        assert title in page.content() or path not in ("/books/", "/books/{long}/"), path
        assert audit(page) == [], path
        assert find_overflows(page, [320, 768, 1920]) == [], path


def test_forms_with_errors_are_accessible_and_fit(open_page: OpenPage, audit: Audit) -> None:
    page = open_page()
    for path in ("/accounts/register/", "/accounts/login/"):
        page.goto(path)
        page.get_by_role("main").get_by_role("button").click()
        expect(page.locator("[aria-invalid]").first).to_be_visible()
        assert audit(page) == [], path
        resize(page, 1280)
        assert page.locator(".form-page > .sheet").evaluate("card => card.offsetWidth") == 544, path


ADMIN_PAGES = [
    "accounts/user/",
    "accounts/user/add/",
    "auth/group/",
    "auth/group/add/",
    "password_change/",
    "catalog/book/",
    "catalog/book/add/",
    "catalog/author/",
    "catalog/tag/",
]


def test_admin_works_under_its_content_security_policy(person: Page) -> None:
    """Alpine, htmx and the switches run, and the policy refuses nothing (the fixture checks the console)."""
    User.objects.create_superuser("carol", password="a quiet bookshop")
    person.goto("/admin/")
    person.get_by_label("Name").fill("carol")
    person.get_by_label("Password").fill("a quiet bookshop")
    person.get_by_role("button", name="Log in").click()
    expect(person.get_by_role("link", name="Users").first).to_be_visible()
    for path in ADMIN_PAGES:
        person.goto(f"/admin/{path}")
    person.goto("/admin/accounts/user/")
    person.get_by_role("main").or_(person.locator("#result_list")).get_by_role("link", name="carol").first.click()
    person.get_by_role("button", name="Save", exact=True).click()
    expect(person.locator("body")).to_contain_text("was changed successfully")


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("percent", [100, 200])
def test_header_text_and_footer_of_a_reader_fit_at_every_width(
    open_page: OpenPage, live_server: LiveServer, language: str, percent: int
) -> None:
    page = sign_in(open_page(), User.objects.create_superuser("Maximiliana", password=None), live_server)
    page.context.add_cookies([{"name": "django_language", "value": language, "url": live_server.url}])
    page.goto("/help/")
    settled(page)
    with text_size(page, percent):
        assert find_overflows(page, range(320, 1300, 14)) == []


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_moves_when_dates_become_ages(open_page: OpenPage, live_server: LiveServer, width: int) -> None:
    """Posts of long names, whose date did not fit beside the name, and of short ones."""
    for name in ("Al", "Maximiliana F", "Maximiliana Featherstonehaugh"):
        for text in ("A short post.", "A longer post. " * 9):
            create_post(User.objects.get_or_create(username=name)[0].pk, text)
    drain_all()
    page = open_page(viewport={"width": width, "height": 844}, java_script_enabled=False)
    tops = "() => [...document.querySelectorAll('.post')].map(post => post.getBoundingClientRect().top)"
    page.goto("/global/")
    before = page.evaluate(tops)
    page = open_page(viewport={"width": width, "height": 844})
    page.goto("/global/")
    expect(page.locator(".post time").first).to_have_text("just now")
    assert page.evaluate(tops) == before


@pytest.mark.parametrize("path", ["/no-such-page/", "/books/999999/", "/u/nobody/"])
def test_error_page_leads_to_the_cart_and_to_the_login(open_page: OpenPage, live_server: LiveServer, path: str) -> None:
    page = open_page()
    page.goto(path)
    banner = page.get_by_role("banner")
    expect(banner.get_by_role("link", name="Cart")).to_have_attribute("href", "/shop/cart/")
    expect(banner.get_by_role("link", name="Log in")).to_have_attribute("href", "/accounts/login/")
    expect(banner.get_by_role("link", name="Register")).to_have_class(re.compile("button"))
    sign_in(page, User.objects.create_user("rita"), live_server)
    page.goto(path)
    expect(banner.get_by_role("link", name="Account")).to_have_attribute("href", "/accounts/")
    expect(banner.get_by_role("link", name="Log in")).to_have_count(0)


def test_link_to_the_account_looks_alike_on_error_pages(open_page: OpenPage, live_server: LiveServer) -> None:
    page = sign_in(open_page(viewport=PHONE), User.objects.create_user("alice"), live_server)
    places = []
    for path in ("/home/", "/no-such-page/"):
        page.goto(path)
        parts = page.locator(".own-button").locator(".avatar, .only-narrow")
        places.append(parts.evaluate_all("parts => parts.map(part => part.getBoundingClientRect().toJSON())"))
    assert len(places[0]) == 2
    assert places[0] == places[1]


def test_question_of_a_short_composer_is_not_cut_with_large_letters(
    open_page: OpenPage, live_server: LiveServer
) -> None:
    page = sign_in(open_page(viewport=PHONE), User.objects.create_user("alice"), live_server)
    page.goto("/home/")
    text = page.get_by_label("What are you reading?")
    heights = []
    for percent in (100, 200):
        with text_size(page, percent):
            assert text.evaluate("text => text.scrollHeight <= text.clientHeight"), percent
            heights.append(text.evaluate("text => text.offsetHeight"))
    assert heights[0] == 60
    assert heights[1] > 100  # two lines


FIND_CONTENT = """part => {
    const box = part.getBoundingClientRect(), before = parseFloat(getComputedStyle(part).paddingLeft);
    return [box.x + before, box.width - before];
}"""


def test_pages_begin_and_end_at_one_edge(open_page: OpenPage, live_server: LiveServer) -> None:
    alice = User.objects.create_user("alice")
    page = sign_in(open_page(viewport={"width": 1280, "height": 900}), alice, live_server)
    wide, reading, column, text, form = 1136, 768, 784, 680, 544
    edge, end = 72, 72 + 1136  # a single column is beside its title, and ends where all pages end; forms are centred
    for left, width, paths in (
        (
            edge,
            wide,
            (
                "/books/",
                "/shelves/",
                "/shelves/statistics/",
                "/u/alice/",
                "/lists/",
                "/accounts/leaderboard/",
                "/accounts/",
                "/people/",
                "/people/profile/",
                "/no-such-page/",
            ),
        ),
        (
            edge,
            reading,
            ("/home/", "/global/", "/mentions/", "/notifications/", "/help/"),
        ),
        (
            end - column,
            column,
            (
                "/accounts/sessions/",
                "/accounts/factors/",
                "/people/muted/",
                "/people/requests/",
                "/welcome/",
                "/welcome/genres/",
                "/shop/addresses/",
                "/shop/alerts/",
            ),
        ),
        (end - text, text, ("/about/", "/returns/")),
        ((edge + end - form) / 2, form, ("/accounts/name/", "/notifications/settings/", "/shop/addresses/add/")),
    ):
        for path in paths:
            page.goto(path)
            titles = page.locator("main h1:not(.sheet *)").evaluate_all(
                "all => all.map(h1 => h1.getBoundingClientRect().x)"
            )
            assert set(titles) <= {left if width == form else edge}, path
            part = page.locator("main :is(.stream, .text-page), main > :not(.columns)").last
            assert part.evaluate(FIND_CONTENT) == [left, width], path


def test_labels_of_the_bar_do_not_overlap_with_large_letters(open_page: OpenPage, live_server: LiveServer) -> None:
    page = sign_in(open_page(viewport={"width": 390, "height": 844}), User.objects.create_user("alice"), live_server)
    page.goto("/home/")
    for width, letters in ((320, "100%"), (390, "200%"), (320, "200%")):
        resize(page, width)
        page.evaluate("size => { document.documentElement.style.fontSize = size }", letters)
        overlaps = page.locator(".head .nav a, .head .own-button").evaluate_all(
            "parts => parts.filter((part) => part.scrollWidth > part.clientWidth).map((part) => part.innerText)"
        )
        assert overlaps == [], (width, letters)


def test_an_author_is_beside_the_books_of_wide_windows(open_page: OpenPage) -> None:
    author, book = Author.objects.create(name="Ann Author"), Book.objects.create(title="The only book")
    book.authors.add(author)
    drain_all()
    page = open_page(viewport={"width": 1280, "height": 900})
    for width, is_beside in ((1280, True), (390, False)):
        resize(page, width)
        page.goto(f"/authors/{author.pk}/")
        head, books = page.locator(".person-head").bounding_box(), page.locator(".cards").bounding_box()
        assert head, width
        assert books, width
        assert (head["x"] + head["width"] < books["x"], head["y"] < books["y"]) == (is_beside, True), width


def test_feed_has_links_to_readers_beside_the_posts_of_wide_windows(
    open_page: OpenPage, live_server: LiveServer
) -> None:
    page = sign_in(open_page(viewport={"width": 1280, "height": 900}), User.objects.create_user("alice"), live_server)
    for path in ("/home/", "/global/"):
        page.goto(path)
        beside = page.get_by_role("complementary")
        for width, is_shown in ((390, False), (1024, False), (1100, True), (1280, True)):
            resize(page, width)
            expect(beside.get_by_role("link", name="Follow requests")).to_be_visible(visible=is_shown)
        column, posts = beside.bounding_box(), page.locator(".stream").bounding_box()
        assert column, path
        assert posts, path
        assert column["x"] > posts["x"] + posts["width"], path


@pytest.mark.parametrize("width", [390, 1280])
def test_pages_of_a_post_and_a_reader_have_a_column_beside_the_posts(
    open_page: OpenPage, live_server: LiveServer, width: int
) -> None:
    """On phones, the book is in the post alone, and the favourite books are above the posts."""
    alice, book = User.objects.create_user("alice"), Book.objects.create(title="A fine book")
    post = create_post(alice.pk, "Read it.", book_id=book.pk)
    add_favourite(alice.pk, book.pk)
    drain_all()
    page = sign_in(open_page(viewport={"width": width, "height": 900}), alice, live_server)
    page.goto(f"/posts/{post.pk}/")
    expect(page.locator(".post-side")).to_be_visible(visible=width == 1280)
    expect(page.locator(".post .post-book")).to_be_visible(visible=width == 390)
    beside_post = page.locator(".post-side").bounding_box()
    page.goto("/u/alice/")
    favourites, first = page.locator(".profile-about").bounding_box(), page.locator(".post").bounding_box()
    assert favourites
    assert first
    if width == 390:
        assert favourites["y"] + favourites["height"] <= first["y"]
    else:
        assert favourites["y"] == first["y"]
        assert favourites["x"] > first["x"] + first["width"]
        assert beside_post
        assert (favourites["x"], favourites["width"]) == (beside_post["x"], beside_post["width"])


def test_books_of_a_profile_without_posts_are_as_wide_as_the_page(open_page: OpenPage, live_server: LiveServer) -> None:
    alice, book = User.objects.create_user("alice"), Book.objects.create(title="A fine book")
    add_favourite(alice.pk, book.pk)
    drain_all()
    page = sign_in(open_page(viewport={"width": 1280, "height": 900}), alice, live_server)
    page.goto("/u/alice/")
    favourites = page.locator(".profile-about").bounding_box()
    assert favourites
    assert favourites["width"] == 1136


@pytest.mark.parametrize("percent", [100, 200])
def test_rows_of_the_account_are_low_and_fit(open_page: OpenPage, live_server: LiveServer, percent: int) -> None:
    name, email = "Maximiliana Featherstonehaugh-Wolfeschlegel", "a-rather-long-address-for-a-phone@mail.example.org"
    page = sign_in(open_page(viewport=PHONE), User.objects.create_user(name, email=email), live_server)
    page.goto("/accounts/")
    heights = page.locator(".rows a").evaluate_all("rows => rows.map(row => row.offsetHeight)")
    assert (min(heights), max(heights)) == (48, 48)
    heights = page.locator(".rows li:not(:has(.help))").evaluate_all("rows => rows.map(row => row.offsetHeight)")
    assert (min(heights), max(heights)) == (48, 49)  # with the line between two
    with text_size(page, percent):
        assert find_overflows(page, [320, 390, 768, 1280]) == []


def test_notifications_quote_two_lines_on_phones(open_page: OpenPage, live_server: LiveServer) -> None:
    alice, bob = (User.objects.create_user(name) for name in ("alice", "bob"))
    drain_all()
    like_post(bob.pk, create_post(alice.pk, "A sentence that goes on. " * 9).pk)
    drain_all()
    page = sign_in(open_page(viewport=PHONE), alice, live_server)
    page.goto("/notifications/")
    lines = "each => Math.round(each.offsetHeight / parseFloat(getComputedStyle(each).lineHeight))"
    assert page.locator(".notification-quote").evaluate(lines) == 2


def test_follow_requests_are_at_the_end_of_the_heading(open_page: OpenPage, live_server: LiveServer) -> None:
    page = sign_in(open_page(viewport={"width": 1280, "height": 900}), User.objects.create_user("alice"), live_server)
    page.goto("/people/")
    link = page.locator(".page-head").get_by_role("link", name="Follow requests").bounding_box()
    assert link
    assert round(link["x"] + link["width"]) == 72 + 1136


def test_a_narrow_leaderboard_breaks_no_words_and_fits(open_page: OpenPage) -> None:
    make_people([116, 79])
    warm_users()
    page = open_page(viewport={"width": 320, "height": 700})
    page.goto("/accounts/leaderboard/")
    heights = page.locator(".ranking th").evaluate_all("cells => cells.map(cell => cell.offsetHeight)")
    assert max(heights) < 50
    with text_size(page, 200):
        assert find_overflows(page, [320, 390]) == []


def test_late_fonts_do_not_move_the_text(open_page: OpenPage) -> None:
    """A page that was painted with the fonts of the system keeps them."""
    page, held, is_late = open_page(reuse=False), list[Route](), True

    def hold(route: Route) -> None:
        if is_late:
            held.append(route)
        else:
            route.continue_()

    page.route("**/*.woff2", hold)
    page.goto("/books/", wait_until="domcontentloaded")
    # The policy of the page forbids what Playwright would wait with.
    has_painted = "performance.getEntriesByName('first-contentful-paint').length > 0"
    wait_until(lambda: bool(page.evaluate(has_painted)), "the first text")
    title = page.locator("main h1")
    measure = """title => {
        const range = new Range();
        range.selectNodeContents(title);
        return range.getBoundingClientRect().width;
    }"""
    painted = title.evaluate(measure)
    assert held
    is_late = False
    for route in held:
        route.continue_()
    page.wait_for_load_state("load")
    page.evaluate("document.fonts.ready.then(() => null)")
    assert title.evaluate(measure) == painted
