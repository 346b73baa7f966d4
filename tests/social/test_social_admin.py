"""Posts, follows, blocks and mutes in the admin: searching, opening cases and ending, and the effect on the site."""

import re
from datetime import date
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.core import mail
from django.test import Client
from redis import Redis

from accounts.admin_tools import AuditedAdmin
from accounts.audit.models import AuditEvent
from accounts.models import User
from catalog.lists.services import ListDraft, create_list
from catalog.models import Book
from catalog.shelves.services import rate_book
from mirror.admin import counting
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from social import keys
from social.models import Block, Follow, Hashtag, Mention, Mute, Post, Pulled
from social.moderation.models import Case
from social.services import posts
from tests.support.social.timelines import follow, make_posts, make_users, warm_up

POSTS, FOLLOWS, BLOCKS = "/admin/social/post/", "/admin/social/follow/", "/admin/social/block/"
MUTES, PULLED, USERS = "/admin/social/mute/", "/admin/social/pulled/", "/admin/accounts/user/"
LISTS = (POSTS, FOLLOWS, BLOCKS, MUTES, PULLED)
NO_INLINES = {f"{name}-{what}": "0" for name in ("mentions", "hashtags") for what in ("TOTAL_FORMS", "INITIAL_FORMS")}

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("carol"))
    return client


def clerk(*permissions: str) -> Client:
    """Log in as staff with exactly these permissions."""
    user = User.objects.create_user("dora", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def act(client: Client, path: str, action: str, *rows: Any) -> str:
    """Run an action on rows. Return the resulting page."""
    asked = {"action": action, "_selected_action": [row.pk for row in rows], "index": "0"}
    response = client.post(path, asked, follow=True)
    assert response.status_code == 200
    drain_all()  # drain the changes that exceeded the request's budget
    return response.content.decode()


def found(client: Client, path: str, **asked: str) -> list[int]:
    """Return the rows on a list."""
    return [row.pk for row in client.get(path, asked).context["cl"].result_list]


def one_of_each() -> None:
    alice, bob = make_users("alice", "bob")
    (post,) = make_posts(alice)
    Mention.objects.create(post=post, user=bob, name="bob")
    Hashtag.objects.create(post=post, name="moss")
    follow(bob, alice)
    Block.objects.create(blocker=alice, blocked=bob)
    Mute.objects.create(user=alice, muted=bob)
    Pulled.objects.create(user=alice)


# --- pages and permissions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", LISTS)
def test_all_pages_answer(staff: Client, path: str) -> None:
    one_of_each()
    (pk,) = found(staff, path)
    assert staff.get(f"{path}{pk}/change/").status_code == 200
    assert staff.get(f"{path}add/").status_code == 403


@pytest.mark.parametrize("path", LISTS)
def test_staff_without_permissions_see_no_page(path: str) -> None:
    one_of_each()
    dora = clerk()
    assert dora.get(path).status_code == 403
    assert path not in dora.get("/admin/").content.decode()
    assert "alice" not in dora.get(f"{POSTS}{Post.objects.get().pk}/change/").content.decode()


def test_view_permissions_allow_no_action() -> None:
    one_of_each()
    dora, post = clerk("view_post", "view_follow"), Post.objects.get()
    assert dora.get(POSTS).context["action_form"] is None  # no action is offered
    act(dora, POSTS, "open_cases", post)
    act(dora, POSTS, "unhide", post)
    act(dora, FOLLOWS, "end_selected", Follow.objects.get())
    dora.post(f"{POSTS}{post.pk}/change/", {"is_hidden": "on"})
    dora.post(f"{POSTS}{post.pk}/delete/", {"post": "yes"})
    assert Post.objects.filter(is_hidden=False).exists()
    assert not Case.objects.exists()
    assert Follow.objects.exists()


def test_posts_are_neither_hidden_nor_deleted_without_a_decision(staff: Client) -> None:
    one_of_each()
    post = Post.objects.get()
    assert staff.post(f"{POSTS}{post.pk}/delete/", {"post": "yes"}).status_code == 403
    staff.post(f"{POSTS}{post.pk}/change/", {"is_hidden": "on"} | NO_INLINES)
    assert not Post.objects.get().is_hidden
    page = staff.get(f"{POSTS}").content.decode()
    assert 'value="hide"' not in page
    assert 'value="remove"' not in page


def test_staff_open_cases_about_posts(staff: Client) -> None:
    alice, bob = make_users("alice", "bob")
    first, second = make_posts(alice, 2)
    other = make_posts(bob)[0]
    posts.hide_post(other.pk)
    form = {"action": "open_cases", "_selected_action": [first.pk]}
    response = staff.post(POSTS, form)
    case = Case.objects.get()
    assert response.headers["Location"] == f"/admin/moderation/case/{case.pk}/change/"
    assert (case.target, case.author, case.reports.get().copy) == (str(first.pk), alice, first.text)
    # Once more, of several posts, one of which is hidden.
    page = act(staff, POSTS, "open_cases", first, second, other)
    assert "3 cases are open." in page
    assert Case.objects.count() == 3
    assert not mail.outbox
    staff.post(f"/admin/moderation/case/{case.pk}/change/", {"action": "hide", "basis": "terms", "facts": "Spam"})
    first.refresh_from_db()
    assert first.is_hidden


def test_lists_are_not_deleted_without_a_decision(staff: Client) -> None:
    made = create_list(make_users("alice")[0].pk, ListDraft("Moss"))
    page = f"/admin/lists/readinglist/{made.pk}/"
    assert f"{page}delete/" not in staff.get(f"{page}change/").content.decode()
    assert staff.post(f"{page}delete/", {"post": "yes"}).status_code == 403


def test_the_log_keeps_no_text_of_a_post(staff: Client) -> None:
    (post,) = make_posts(make_users("alice")[0])
    staff.post(POSTS, {"action": "open_cases", "_selected_action": [post.pk]})
    posts.hide_post(post.pk)
    act(staff, POSTS, "unhide", post)
    for model in (LogEntry, AuditEvent):
        assert not any(post.text in str(row) for row in model.objects.values())
    assert {entry.object_repr for entry in LogEntry.objects.all()} == {f"post {post.pk}"}


def test_a_rating_is_opened_from_the_list_of_posts(staff: Client) -> None:
    rate_book(make_users("alice")[0].pk, Book.objects.create(title="Moss").pk, 8, date(2026, 3, 4))
    rating = Post.objects.get()
    page = staff.get(POSTS).content.decode()
    assert re.search(rf'<a href="{POSTS}{rating.pk}/change/"[^>]*>rating</a>', page)


@pytest.mark.parametrize("path", LISTS)
def test_the_cost_of_a_list_does_not_grow_with_its_rows(staff: Client, path: str) -> None:
    def add(number: int) -> None:
        a, b = make_users(f"reader {number}", f"writer {number}")
        make_posts(b, book=Book.objects.create(title=f"Volume {number}"))
        follow(a, b)
        Block.objects.create(blocker=a, blocked=b)
        Mute.objects.create(user=a, muted=b)
        Pulled.objects.create(user=b)

    add(0)
    staff.get(path)
    with record() as few:
        staff.get(path)
    for number in range(1, 15):
        add(number)
    with record() as many:
        page = staff.get(path).content.decode()
    assert "writer 14" in page
    assert len(many.sql) == len(few.sql)


@pytest.mark.parametrize("path", LISTS)
def test_lists_never_count_a_whole_large_table(staff: Client, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MAX_COUNTED_ROWS", 7)
    one_of_each()
    with record() as seen:
        staff.get(path)
    counts = [sql for sql, _ in seen.sql if "COUNT(*)" in sql]
    assert counts
    assert all("LIMIT 8" in sql for sql in counts)


# --- posts ----------------------------------------------------------------------------------------------------


def test_a_post_shows_text_mentions_and_hashtags_read_only(staff: Client) -> None:
    one_of_each()
    post = Post.objects.get()
    address = f"{POSTS}{post.pk}/change/"
    page = staff.get(address).content.decode()
    assert all(said in page for said in ("alice says 0", "moss", "bob"))
    assert 'name="text"' not in page
    staff.post(address, {"text": "Forged.", "user": "1", "is_pulled": "on", "hashtags-0-name": "forged"})
    post.refresh_from_db()
    assert (post.text, post.is_pulled, post.hashtags.get().name) == ("alice says 0", False, "moss")


def test_hidden_posts_disappear_from_the_site_and_come_back(staff: Client, redis: Redis) -> None:
    (alice,) = make_users("alice")
    first, second, third = make_posts(alice, 3)
    warm_up(alice)
    for post in (first, second):
        posts.hide_post(post.pk)
    drain_all()
    assert redis.zrange(keys.global_timeline(), 0, -1) == [str(third.pk).encode()]
    assert not redis.exists(keys.post(first.pk))
    assert "1 post is visible again." in act(staff, POSTS, "unhide", first, third)
    assert redis.exists(keys.post(first.pk))
    assert [entry.object_id for entry in LogEntry.objects.order_by("pk")] == [str(first.pk)]


def test_the_page_of_a_post_sets_its_book(staff: Client, redis: Redis) -> None:
    (alice,) = make_users("alice")
    (post,) = make_posts(alice)
    warm_up(alice)
    book = Book.objects.create(title="Moss")
    address = f"{POSTS}{post.pk}/change/"
    staff.post(address, {"book": str(book.pk)} | NO_INLINES)
    drain_all()
    assert redis.zrange(keys.book_posts(book.pk), 0, -1) == [str(post.pk).encode()]


def test_too_many_selected_rows_are_refused(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AuditedAdmin, "max_selected", 2)
    (alice,) = make_users("alice")
    rows = make_posts(alice, 3)
    assert "choose at most 2" in act(staff, POSTS, "open_cases", *rows)
    assert not Case.objects.exists()


def test_posts_are_found_by_words_author_hashtag_and_number(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    alice, bob = make_users("alice", "Bob B")
    (first,) = make_posts(alice)
    (second,) = make_posts(bob)
    Hashtag.objects.create(post=second, name="moss")
    for q, wanted in {
        "ALICE SAYS": [first],
        "@bob b": [second],
        "@nobody": [],
        "#Moss": [second],
        str(first.pk): [first],
        "": [second, first],
        "no such words": [],
    }.items():
        assert found(staff, POSTS, q=q) == [post.pk for post in wanted], q
    monkeypatch.setattr("social.admin.MAX_SEARCHED_POSTS", 1)
    assert found(staff, POSTS, q="says") == [second.pk]  # a search for words reads only the newest posts


def test_posts_are_filtered_by_author_book_and_visibility(staff: Client) -> None:
    alice, bob = make_users("alice", "bob")
    book = Book.objects.create(title="Moss")
    (first,), (second,) = make_posts(alice, book=book), make_posts(bob, is_hidden=True)
    page = staff.get(POSTS).content.decode()
    assert f"{POSTS}?book__id__exact={book.pk}" in page
    assert f"{POSTS}?user__id__exact={bob.pk}" in page
    assert found(staff, POSTS, book__id__exact=str(book.pk)) == [first.pk]
    assert found(staff, POSTS, user__id__exact=str(bob.pk)) == [second.pk]
    assert found(staff, POSTS, is_hidden__exact="1") == [second.pk]
    assert found(staff, POSTS, about="book") == [first.pk]
    assert found(staff, POSTS, about="none") == [second.pk]


def test_user_input_is_escaped_in_the_admin(staff: Client) -> None:
    (alice,) = make_users("alice")
    post = Post.objects.create(user=alice, text="<script>alert(1)</script>")
    for path in (POSTS, f"{POSTS}{post.pk}/change/"):
        page = staff.get(path).content.decode()
        assert "<script>alert(1)" not in page
        assert "&lt;script&gt;alert(1)" in page


# --- readers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("path", "model"), [(FOLLOWS, Follow), (BLOCKS, Block), (MUTES, Mute)])
def test_relations_are_found_by_either_name_and_ended(staff: Client, redis: Redis, path: str, model: Any) -> None:
    alice, bob, charlie = make_users("alice", "bob", "charlie")
    who, whom = ENDS[path]
    first, second = (model.objects.create(**{who: a, whom: b}) for a, b in ((alice, bob), (bob, charlie)))
    warm_up()
    assert found(staff, path, q="ALICE") == [first.pk]
    assert found(staff, path, q="bob") == [second.pk, first.pk]
    assert found(staff, path, q="nobody") == []
    assert "1 was removed." in act(staff, path, "end_selected", first)
    staff.post(f"{path}{second.pk}/delete/", {"post": "yes"})
    drain_all()
    assert not model.objects.exists()
    name = keys.following if model is Follow else keys.shuns
    assert not redis.exists(name(alice.pk), name(bob.pk))


ENDS = {FOLLOWS: ("follower", "followee"), BLOCKS: ("blocker", "blocked"), MUTES: ("user", "muted")}


def test_the_page_of_a_user_counts_and_links_posts_and_follows(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    alice, bob, charlie = make_users("alice", "bob", "charlie")
    mine = make_posts(alice, 3)
    make_posts(bob)
    follow(bob, alice)
    follow(charlie, alice)
    follow(alice, bob)
    address = f"{USERS}{alice.pk}/change/"
    page = staff.get(address).content.decode()
    for path, column, count in (
        (POSTS, "user", 3),
        (FOLLOWS, "followee", 2),
        (FOLLOWS, "follower", 1),
    ):
        assert f'href="{path}?{column}__id__exact={alice.pk}">{count}</a>' in page
        assert len(found(staff, path, **{f"{column}__id__exact": str(alice.pk)})) == count
    assert set(found(staff, POSTS, user__id__exact=str(alice.pk))) == {post.pk for post in mine}
    monkeypatch.setattr(counting, "MAX_COUNTED_ROWS", 2)
    assert "more than 2" in staff.get(address).content.decode().replace("about 3", "more than 2")


def test_pulled_authors_are_read_only(staff: Client) -> None:
    (alice,) = make_users("alice")
    pulled = Pulled.objects.create(user=alice, state=Pulled.State.ON)
    staff.post(f"{PULLED}{alice.pk}/change/", {"state": "eased"})
    assert staff.post(f"{PULLED}{alice.pk}/delete/", {"post": "yes"}).status_code == 403
    pulled.refresh_from_db()
    assert pulled.state == "on"
