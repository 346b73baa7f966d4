"""Two users in two browsers read each other's posts, with JavaScript and without it."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from mirror import registry
from mirror.relay import drains
from mirror.windows import push, window
from social.models import Follow, Post
from social.services import people, posts
from tests.browser.conftest import Audit, OpenPage, settled, tab_to
from tests.browser.test_loginlog import sign_in
from tests.support.catalog.make import make_book
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)

AsSomebody = Callable[..., Page]
PLAIN = {"java_script_enabled": False}


@pytest.fixture
def cast(transactional_db: None) -> tuple[User, User]:
    """Create alice, who follows bob, the author of a post; all mirrors are warm."""
    alice, bob = User.objects.create(username="alice"), User.objects.create(username="bob")
    Follow.objects.create(follower=alice, followee=bob)
    posts.create_post(bob.pk, "Bob was here")
    rebuild()
    assert window.warm(registry.get("timeline"), str(alice.pk))  # type: ignore[arg-type]
    return alice, bob


@pytest.fixture
def as_somebody(open_page: OpenPage, live_server: LiveServer) -> AsSomebody:
    """Return a function that opens a new window in which a user is logged in."""

    def make(user: User, **options: Any) -> Page:
        return sign_in(open_page(**options), user, live_server)

    return make


def it_arrives() -> None:
    """Deliver posts that exceeded the budget of their request; the test runs no workers."""
    push.push_all()
    drains.drain_all()


def say(page: Page, text: str) -> None:
    page.goto("/home/")
    page.get_by_label("What are you reading?").fill(text)
    page.get_by_role("main").get_by_role("button", name="Post", exact=True).click()
    expect(page.locator(".post").first).to_contain_text(text)
    it_arrives()


def test_new_posts_are_announced_and_shown_without_a_reload(cast: tuple[User, User], as_somebody: AsSomebody) -> None:
    alice, bob = (as_somebody(user, reuse=False) for user in cast)
    alice.clock.install()  # lets the test skip the time until the next poll
    alice.goto("/home/")
    expect(alice.locator(".post")).to_have_count(1)
    alice.evaluate("window.isSame = true")
    say(bob, "Something new")
    alice.clock.fast_forward(11_000)
    alice.get_by_role("link", name="1 new post", exact=True).click()
    expect(alice.locator(".post").first).to_contain_text("Something new")
    expect(alice.locator(".post")).to_have_count(2)
    expect(alice.get_by_role("link", name=re.compile("new post"))).to_have_count(0)
    for text in ("a second one", "and a third"):
        say(bob, text)
    alice.clock.fast_forward(11_000)
    alice.get_by_role("link", name="2 new posts", exact=True).click()
    expect(alice.locator(".post").first).to_contain_text("and a third")
    assert alice.evaluate("window.isSame"), "the page was loaded again"


def test_poll_slows_down_while_the_page_is_hidden(cast: tuple[User, User], as_somebody: AsSomebody) -> None:
    """The clock of the page stands still; the test moves it forward."""
    alice, _ = (as_somebody(user, reuse=False) for user in cast)
    alice.add_init_script("Object.defineProperty(document, 'hidden', {get: () => sessionStorage.isHidden === 'yes'})")
    alice.clock.install(time=0)
    alice.clock.pause_at(10)
    alice.goto("/home/")
    asked: list[str] = []
    alice.on("request", lambda request: asked.append(request.url) if "/home/new/" in request.url else None)

    def look(is_hidden: str) -> None:
        alice.evaluate(
            "answer => { sessionStorage.isHidden = answer; document.dispatchEvent(new Event('visibilitychange')); }",
            is_hidden,
        )

    look("yes")
    with alice.expect_response("**/home/new/**"):
        alice.clock.fast_forward(61_000)
    asked.clear()
    alice.clock.fast_forward(50_000)
    with alice.expect_response("**/home/new/**"):
        alice.clock.fast_forward(11_000)
    assert len(asked) == 1, "hidden, it asks once a minute"
    alice.clock.fast_forward(11_000)
    with alice.expect_response("**/home/new/**"):
        look("no")
    assert len(asked) == 2, "looked at again, it asks at once"
    alice.clock.fast_forward(8_000)
    with alice.expect_response("**/home/new/**"):
        alice.clock.fast_forward(3_000)
    assert len(asked) == 3, "looked at, it asks every ten seconds"


def test_own_posts_and_posts_of_strangers_are_not_announced(cast: tuple[User, User], as_somebody: AsSomebody) -> None:
    alice, _ = (as_somebody(user, reuse=False) for user in cast)
    alice.clock.install()
    say(alice, "My own")
    posts.create_post(User.objects.create(username="charlie").pk, "Of no interest")
    with alice.expect_response("**/home/new/**") as told:
        alice.clock.fast_forward(11_000)
    assert told.value.ok
    expect(alice.get_by_role("link", name=re.compile("new post"))).to_have_count(0)


def test_timeline_works_without_javascript(cast: tuple[User, User], as_somebody: AsSomebody) -> None:
    alice, bob = (as_somebody(user, **PLAIN) for user in cast)
    alice.goto("/home/")
    say(bob, "By a plain form")
    alice.reload()
    expect(alice.locator(".post").first).to_contain_text("By a plain form")


@pytest.mark.parametrize("options", [{}, PLAIN], ids=["with scripts", "without"])
def test_timeline_follows_follow_and_unfollow_on_a_profile(
    cast: tuple[User, User], as_somebody: AsSomebody, options: dict[str, Any]
) -> None:
    alice, bob = cast
    posts.create_post(alice.pk, "Alice said")
    page = as_somebody(bob, **options)
    for _ in range(2):
        page.goto("/u/alice/")
        page.get_by_role("button", name="Follow alice").click()
        page.get_by_role("button", name="Unfollow alice").wait_for()
        page.goto("/home/")
        expect(page.get_by_text("Alice said")).to_be_visible()
        page.goto("/u/alice/")
        page.get_by_role("button", name="Unfollow alice").click()
        page.get_by_role("button", name="Follow alice", exact=True).wait_for()
        page.goto("/home/")
        expect(page.get_by_text("Alice said")).to_have_count(0)


@pytest.mark.parametrize("options", [{}, PLAIN], ids=["with scripts", "without"])
def test_deleted_post_disappears_for_followers(
    cast: tuple[User, User], as_somebody: AsSomebody, options: dict[str, Any]
) -> None:
    alice, bob = (as_somebody(user, **options) for user in cast)
    alice.goto("/home/")
    expect(alice.get_by_text("Bob was here")).to_be_visible()
    bob.goto("/u/bob/")
    bob.get_by_role("link", name="Delete").click()
    bob.get_by_role("button", name="Delete").click()
    expect(bob.get_by_role("status").first).to_contain_text("Your post was deleted.")
    it_arrives()
    for page in ("/home/", "/global/", "/u/bob/"):
        alice.goto(page)
        expect(alice.get_by_text("Bob was here")).to_have_count(0)


def test_blocked_reader_cannot_find_the_blocker(cast: tuple[User, User], as_somebody: AsSomebody) -> None:
    alice, bob = cast
    people.block(bob.pk, alice.pk)
    it_arrives()
    page = as_somebody(alice)
    for address in ("/u/bob/", "/u/bob/followers/", "/u/bob/following/"):
        answer = page.goto(address)
        assert answer
        assert answer.status == 404
    for address in ("/home/", "/global/", "/"):
        page.goto(address)
        expect(page.get_by_role("main").get_by_text("Bob was here")).to_have_count(0)


def test_posting_and_reading_on_work_by_keyboard(cast: tuple[User, User], as_somebody: AsSomebody) -> None:
    alice, bob = cast
    Post.objects.bulk_create(Post(user=bob, text=f"number {n}") for n in range(30))
    it_arrives()
    page = as_somebody(alice)
    page.goto("/home/")
    tab_to(page, page.locator("#say"))
    page.keyboard.type("Typed")
    tab_to(page, page.get_by_role("button", name="Post", exact=True))
    page.keyboard.press("Enter")
    expect(page.locator(".post").first).to_contain_text("Typed")
    settled(page)  # wait until htmx has moved the focus to the composer
    before = page.locator(".post").count()
    older = page.get_by_role("link", name="Older posts")
    older.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Bob was here")).to_be_visible()
    assert page.locator(".post").count() > before
    expect(page.locator(".post:focus")).to_have_count(1)  # the focus must not be lost


def test_social_pages_are_accessible_and_fit(cast: tuple[User, User], as_somebody: AsSomebody, audit: Audit) -> None:
    """Includes posts and names with the longest possible words."""
    alice, bob = cast
    book = make_book("Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft")
    long = User.objects.create(username="W" * 60)
    Follow.objects.create(follower=alice, followee=long)
    mine = posts.create_post(
        long.pk, f"{'W' * 150} https://example.com/{'x' * 150} #{'tag' * 30} @alice", book_id=book.pk
    )
    posts.create_post(alice.pk, "short #tea")
    people.mute(alice.pk, bob.pk)
    it_arrives()
    page = as_somebody(alice)
    own = Post.objects.get(user=alice).pk
    addresses = [
        "/home/", "/home/?after=1", "/global/", f"/u/{long.username}/", "/u/alice/", "/u/bob/", "/tags/tea/",
        "/mentions/", f"/u/{long.username}/followers/", "/u/alice/following/", "/people/", "/people/muted/",
        "/people/blocked/", f"/books/{book.pk}/", f"/books/{book.pk}/posts/", f"/posts/{mine.pk}/",
        f"/posts/{own}/delete/", f"/u/{long.username}/block/", "/",
    ]  # fmt: skip
    for address in addresses:
        answer = page.goto(address)
        assert answer
        assert answer.ok, address
        assert audit(page) == [], address
