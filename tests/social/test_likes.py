"""Likes: permissions, answers in HTML, JSON and to htmx, counts on cards, and their cost."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from accounts.models import User
from accounts.suspension import lift_suspension, suspend_user
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from mirror.verify import runs
from shop.pagecache import readers
from social.models import Block, Like, Mute, Post
from social.selectors import get_post
from social.services import likes, people
from social.services.posts import delete_post, hide_post
from tests.support.social.busy_town import Town
from tests.support.social.timelines import make_users, measure_cost, warm_up

JSON, HTMX = {"Accept": "application/json"}, {"HX-Request": "true"}
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def town() -> Town:
    return Town()


@pytest.fixture
def post(town: Town) -> Post:
    return town.posts[-1]


@pytest.fixture
def bob(client: Client, town: Town) -> User:
    client.force_login(town.bob)
    return town.bob


def ask(client: Client, post: Post, verb: str = "like", **headers: str) -> Any:
    return client.post(f"/posts/{post.pk}/{verb}/", {"next": "/mentions/"}, headers=headers)


def get_shown(client: Client, post: Post) -> tuple[int, bool]:
    """Return the likes of a post as JSON shows them, after checking that SQL says the same."""
    answers = [client.get(f"/posts/{post.pk}/", headers=JSON).json()]
    with sql_only():
        answers.append(client.get(f"/posts/{post.pk}/", headers=JSON).json())
    assert answers[0] == answers[1]
    return answers[0]["likes"], answers[0]["is_liked"]


def test_a_form_likes_a_post_and_returns_to_it(client: Client, bob: User, post: Post) -> None:
    for verb, other, pressed, shown in (("like", "unlike", "true", (1, True)), ("unlike", "like", "false", (0, False))):
        response = ask(client, post, verb)
        assert (response.status_code, response.headers["Location"]) == (302, f"/mentions/#like-{post.pk}")
        page = client.get("/mentions/").content.decode()
        form = page.partition(f'action="/posts/{post.pk}/{other}/"')[2].partition("</form>")[0]
        assert f'<button class="like" aria-pressed="{pressed}">' in form
        assert ("<span>1</span>" in form) is shown[1]
        assert 'name="next" value="/mentions/"' in form
        assert get_shown(client, post) == shown


def test_htmx_gets_the_new_button(client: Client, bob: User, post: Post) -> None:
    part = ask(client, post, **HTMX).content.decode().strip()
    assert part.startswith("<form")
    assert part.endswith("</form>")
    assert f'hx-post="/posts/{post.pk}/unlike/"' in part
    assert 'aria-pressed="true" autofocus' in part
    assert "csrfmiddlewaretoken" in part
    assert 'name="next" value="/mentions/"' in part


def test_json_has_the_new_state_and_whether_it_changed(client: Client, bob: User, post: Post) -> None:
    for verb, count in (("like", 1), ("unlike", 0)):
        for is_changed in (True, False):
            said = {"post": {"id": post.pk, "likes": count, "is_liked": bool(count)}, "is_changed": is_changed}
            assert ask(client, post, verb, **JSON).json() == said


def test_visitors_see_the_number_and_must_log_in(client: Client, town: Town, post: Post) -> None:
    word = '<span aria-hidden="true">Like</span>'  # in place of the number 0
    assert word in client.get(f"/posts/{post.pk}/").content.decode()
    likes.like_post(town.alice.pk, post.pk)
    drain_all()
    assert get_shown(client, post) == (1, False)
    page = client.get(f"/posts/{post.pk}/").content.decode()
    assert f'<a class="like" href="/accounts/login/?next=/posts/{post.pk}/" rel="nofollow">' in page
    assert word not in page
    assert "csrfmiddlewaretoken" not in page.partition("<main")[2]
    assert ask(client, post).headers["Location"].startswith("/accounts/login/?next=/accounts/resume/")
    assert ask(client, post, **JSON).status_code == 401
    assert Like.objects.count() == 1


@pytest.mark.parametrize("is_blocker", [True, False])
def test_nobody_likes_across_a_block(client: Client, town: Town, bob: User, post: Post, is_blocker: bool) -> None:
    pair = {"blocker": town.alice, "blocked": bob} if is_blocker else {"blocker": bob, "blocked": town.alice}
    Block.objects.create(**pair)
    for headers in ({}, JSON, HTMX):
        assert ask(client, post, **headers).status_code == 404
    assert not Like.objects.exists()


def test_a_like_is_removed_after_a_block(client: Client, town: Town, bob: User, post: Post) -> None:
    likes.like_post(bob.pk, post.pk)
    people.block(town.alice.pk, bob.pk)
    assert ask(client, post, "unlike").status_code == 404
    assert not Like.objects.exists()


def test_hidden_deleted_and_missing_posts_cannot_be_liked(client: Client, town: Town, bob: User) -> None:
    hidden, deleted, *_ = town.posts
    hide_post(hidden.pk)
    delete_post(deleted.pk, by=town.alice.pk)
    for pk in (hidden.pk, deleted.pk, 2**63, 0):
        assert client.post(f"/posts/{pk}/like/").status_code == 404
    assert not Like.objects.exists()


def test_muted_authors_and_own_posts_can_be_liked(client: Client, town: Town, bob: User, post: Post) -> None:
    Mute.objects.create(user=bob, muted=town.alice)
    assert likes.like_post(bob.pk, post.pk)
    assert likes.like_post(town.alice.pk, post.pk)
    drain_all()
    assert get_shown(client, post) == (2, True)


def test_likes_have_a_rate_limit_and_their_removal_has_none(
    client: Client, bob: User, town: Town, settings: Settings
) -> None:
    settings.LIKE_RATES = ((2, 3600),)
    one, two, three, *_ = town.posts
    assert [ask(client, each, **JSON).status_code for each in (one, two, three)] == [200, 200, 429]
    assert ask(client, one, "unlike", **JSON).status_code == 200


def test_a_page_costs_the_same_with_and_without_likes(
    client: Client, town: Town, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each visit may renew the plan of its page, however fast they follow.
    monkeypatch.setattr(readers, "PLAN_SECONDS", 0.0)

    def costs() -> list[tuple[int, int]]:
        paths = ["/mentions/", "/tags/emma/", "/u/alice/", "/home/", "/global/", "/", f"/books/{town.book.pk}/"]
        for path in paths * 3:  # the pages predict their reads
            client.get(path)
        return [measure_cost(lambda path=path: client.get(path)) for path in paths]  # type: ignore[misc]

    before = costs()
    many = make_users(*(f"r{n}" for n in range(50)))
    Like.objects.bulk_create(Like(user=user, post=post) for user in [*many, bob] for post in town.posts)
    warm_up(bob)
    assert costs() == before
    assert get_shown(client, town.posts[0]) == (51, True)


def test_counts_converge_after_any_write(town: Town, post: Post) -> None:
    other = town.posts[0]
    Like.objects.bulk_create(Like(user=user, post=each) for user in (town.alice, town.bob) for each in (post, other))
    Like.objects.filter(user=town.alice, post=post).update(post=town.posts[1])
    Post.objects.filter(pk=other.pk).delete()
    User.objects.filter(pk=town.bob.pk).update(is_active=False)
    drain_all()
    assert not runs.verify(["like"])
    found = [get_post(each.pk, town.alice.pk) for each in (post, town.posts[1])]
    assert [(each.tally.likes, each.tally.is_liked) for each in found if each] == [(0, False), (1, True)]


def test_likes_of_a_suspended_reader_do_not_count_until_the_suspension_ends(
    client: Client, town: Town, post: Post
) -> None:
    for user in (town.alice, town.bob):
        likes.like_post(user.pk, post.pk)
    suspend_user(town.bob.pk, timezone.now() + timedelta(days=2), notice="")
    drain_all()
    assert get_shown(client, post) == (1, False)
    lift_suspension(town.bob.pk)
    drain_all()
    assert get_shown(client, post) == (2, False)
