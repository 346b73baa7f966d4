"""Notifications follow from facts: each kind, groups, and readers that are left out."""

from datetime import date, timedelta

import pytest
from django.utils import timezone

from accounts.models import User
from accounts.notifications import selectors, services, tables
from accounts.notifications.models import Notification
from catalog.library.reviews import NewReview, create_reviews
from catalog.models import Book
from catalog.shelves.models import Shelf
from catalog.shelves.services import put_on_shelf, rate_book, remove_from_shelf
from mirror.relay.drains import drain_all, drain_keys
from social.models import Follow, Like, Post
from social.reviews.models import Review
from social.reviews.services import Draft, write_review
from social.services import likes, people
from social.services.posts import create_post, delete_post, hide_post
from tests.support.social.notifications import read_sentences
from tests.support.social.timelines import make_users
from tests.support.warm_mirrors import rebuild

TODAY = date(2026, 5, 4)
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("cluster")]


@pytest.fixture
def readers() -> list[User]:
    found = make_users("alice", "bob", "carol", "dave", "erin")
    rebuild()
    return found


def test_each_kind_has_a_sentence(readers: list[User]) -> None:
    alice, bob, *_ = readers
    post = create_post(alice.pk, "A good book")
    create_post(bob.pk, "Ask @alice")
    create_post(bob.pk, "Indeed", parent_id=post.pk)
    likes.like_post(bob.pk, post.pk)
    people.follow(bob.pk, alice.pk)
    assert read_sentences(alice) == [
        "bob followed you.",
        "bob liked your post.",
        "bob replied to your post.",
        "bob mentioned you.",
    ]
    assert read_sentences(bob) == []


def test_readers_are_grouped_and_the_newest_is_named(readers: list[User]) -> None:
    alice, *others = readers
    post = create_post(alice.pk, "A good book")
    expected = ["bob", "carol and bob", "dave and 2 others", "erin and 3 others"]
    for other, names in zip(others, expected, strict=True):
        likes.like_post(other.pk, post.pk)
        assert read_sentences(alice) == [f"{names} liked your post."]
    likes.unlike_post(others[-1].pk, post.pk)
    assert read_sentences(alice) == ["dave and 2 others liked your post."]


def test_older_facts_belong_to_no_group(readers: list[User]) -> None:
    alice, bob, carol, *_ = readers
    post = create_post(alice.pk, "A good book")
    for user, days in ((bob, 8), (carol, 0)):
        Like.objects.create(user=user, post=post, created_at=timezone.now() - timedelta(days=days))
    assert read_sentences(alice) == ["carol liked your post."]


def test_own_facts_are_left_out(readers: list[User]) -> None:
    alice, *_ = readers
    post = create_post(alice.pk, "A note to @alice")
    create_post(alice.pk, "And another", parent_id=post.pk)
    likes.like_post(alice.pk, post.pk)
    assert read_sentences(alice) == []


def test_a_mention_in_a_reply_to_its_reader_is_one_notification(readers: list[User]) -> None:
    alice, bob, carol, *_ = readers
    post = create_post(alice.pk, "A good book")
    create_post(bob.pk, "@alice @carol indeed", parent_id=post.pk)
    assert read_sentences(alice) == ["bob replied to your post."]
    assert read_sentences(carol) == ["bob mentioned you."]


def _make_all(actor: User, reader: User) -> Post:
    post = create_post(reader.pk, "A good book")
    create_post(actor.pk, f"Ask @{reader.username}")
    create_post(actor.pk, "Indeed", parent_id=post.pk)
    Like.objects.create(user=actor, post=post)
    Follow.objects.create(follower=actor, followee=reader)
    return post


def test_notifications_of_private_accounts_come_and_go_with_the_approval(readers: list[User]) -> None:
    alice, bob, carol, *_ = readers
    people.set_private(bob.pk, is_private=True)
    people.follow(alice.pk, bob.pk)
    people.accept_follower(bob.pk, alice.pk)
    post = create_post(alice.pk, "A good book")
    create_post(carol.pk, "Indeed", parent_id=post.pk)
    create_post(bob.pk, "Indeed", parent_id=post.pk)
    create_post(bob.pk, "Ask @alice")
    likes.like_post(bob.pk, post.pk)
    approved = ["bob liked your post.", "bob mentioned you.", "bob and carol replied to your post."]
    assert read_sentences(alice) == approved
    people.remove_follower(bob.pk, alice.pk)
    assert read_sentences(alice) == ["carol replied to your post."]
    assert selectors.count_unread(alice.pk) == 1
    people.follow(alice.pk, bob.pk)
    people.accept_follower(bob.pk, alice.pk)
    assert read_sentences(alice) == approved


@pytest.mark.parametrize("end", ["block", "be blocked", "mute", "deactivate", "delete"])
def test_notifications_of_readers_who_must_not_be_heard_disappear(readers: list[User], end: str) -> None:
    alice, bob, carol, *_ = readers
    post = _make_all(bob, alice)
    Like.objects.create(user=carol, post=post)
    assert len(read_sentences(alice)) == 4
    pk = bob.pk
    if end == "block":
        people.block(alice.pk, bob.pk)
    elif end == "be blocked":
        people.block(bob.pk, alice.pk)
    elif end == "mute":
        people.mute(alice.pk, bob.pk)
    elif end == "deactivate":
        User.objects.filter(pk=bob.pk).update(is_active=False)
    else:
        bob.delete()
    # The strict mirrors hide them before the relay has computed the notifications again.
    drain_keys("user", [str(pk)])
    before = selectors.get_page(alice.pk)
    assert all("bob" not in shown.names for shown in before.notifications)
    assert read_sentences(alice) == ["carol liked your post."]
    assert selectors.count_unread(alice.pk) == 1


def test_a_mute_or_block_of_others_changes_nothing(readers: list[User]) -> None:
    alice, bob, carol, dave, erin = readers
    people.mute(carol.pk, bob.pk)
    people.block(dave.pk, bob.pk)
    people.block(bob.pk, erin.pk)
    _make_all(bob, alice)
    assert len(read_sentences(alice)) == 4


def test_notifications_return_after_a_mute(readers: list[User]) -> None:
    alice, bob, *_ = readers
    _make_all(bob, alice)
    people.mute(alice.pk, bob.pk)
    assert read_sentences(alice) == []
    people.unmute(alice.pk, bob.pk)
    assert len(read_sentences(alice)) == 4


def test_hidden_and_deleted_posts_notify_nobody(readers: list[User]) -> None:
    alice, bob, *_ = readers
    post = create_post(alice.pk, "A good book")
    mention = create_post(bob.pk, "Ask @alice")
    reply = create_post(bob.pk, "Indeed", parent_id=post.pk)
    likes.like_post(bob.pk, post.pk)
    assert len(read_sentences(alice)) == 3
    for each in (mention, reply):
        hide_post(each.pk)
    assert read_sentences(alice) == ["bob liked your post."]
    delete_post(post.pk, by=alice.pk)
    assert read_sentences(alice) == []


def test_writes_without_signals_count(readers: list[User]) -> None:
    alice, bob, carol, *_ = readers
    post = create_post(alice.pk, "A good book")
    Like.objects.bulk_create(Like(user=user, post=post) for user in (bob, carol))
    assert len(read_sentences(alice)) == 1
    Like.objects.filter(post=post).delete()
    assert read_sentences(alice) == []


def test_a_group_counts_a_limited_number_of_readers(readers: list[User], monkeypatch: pytest.MonkeyPatch) -> None:
    alice, *_ = readers
    post = create_post(alice.pk, "A good book")
    many = User.objects.bulk_create(User(username=f"one of many {n}") for n in range(tables.MAX_FACTS + 5))
    Like.objects.bulk_create(Like(user=user, post=post) for user in many)
    Follow.objects.bulk_create(Follow(follower=user, followee=alice) for user in many[:1000])
    (followed, liked) = read_sentences(alice)
    assert liked.endswith(" and more than 999 others liked your post.")
    assert followed == "one of many 999 and 999 others followed you."


def test_facts_before_the_installation_are_read(readers: list[User], monkeypatch: pytest.MonkeyPatch) -> None:
    alice, bob, *_ = readers
    monkeypatch.setattr(tables, "find_installation_time", lambda: timezone.now() + timedelta(hours=1))
    _make_all(bob, alice)
    assert len(read_sentences(alice)) == 4
    assert selectors.count_unread(alice.pk) == 0
    assert not Notification.objects.filter(mailed_at=None).exists()


def test_a_new_fact_makes_a_read_notification_unread(readers: list[User]) -> None:
    alice, bob, carol, *_ = readers
    post = create_post(alice.pk, "A good book")
    likes.like_post(bob.pk, post.pk)
    drain_all()
    Notification.objects.update(read_at=timezone.now())
    drain_all()
    assert selectors.count_unread(alice.pk) == 0
    likes.like_post(carol.pk, post.pk)
    assert read_sentences(alice) == ["carol and bob liked your post."]
    assert selectors.count_unread(alice.pk) == 1


def test_the_end_of_a_mute_makes_nothing_unread(readers: list[User]) -> None:
    alice, bob, carol, *_ = readers
    post = create_post(alice.pk, "A good book")
    _make_all(bob, alice)
    likes.like_post(carol.pk, post.pk)
    before = read_sentences(alice)
    assert selectors.count_unread(alice.pk) == len(before)
    services.mark_all_read(alice.pk, timezone.now())
    for begin, end in ((people.mute, people.unmute), (people.block, people.unblock)):
        begin(alice.pk, bob.pk)
        if begin is people.mute:
            create_post(bob.pk, "Ask @alice during the mute")
        assert read_sentences(alice) == ["carol liked your post."]
        end(alice.pk, bob.pk)
        after = read_sentences(alice)
        assert len(after) == len(before) + 1 - (begin is people.block)  # a block ends the follow
        assert selectors.count_unread(alice.pk) == 0
    create_post(bob.pk, "Ask @alice now")
    drain_all()
    assert selectors.count_unread(alice.pk) == 1


def test_reviews_by_followed_readers_of_books_on_a_shelf(readers: list[User]) -> None:
    alice, bob, carol, *_ = readers
    book, other = Book.objects.create(title="Emma"), Book.objects.create(title="Persuasion")
    people.follow(alice.pk, bob.pk)
    put_on_shelf(alice.pk, book.pk, Shelf.WANT, TODAY)
    for reader, each in ((bob, book), (bob, other), (carol, book)):
        write_review(reader.pk, each.pk, Draft("A good book", 8), TODAY)
    assert read_sentences(alice) == ["bob reviewed Emma."]
    people.follow(alice.pk, carol.pk)
    assert read_sentences(alice) == ["carol and bob reviewed Emma."]
    put_on_shelf(alice.pk, other.pk, Shelf.READ, TODAY)
    assert len(read_sentences(alice)) == 2
    people.mute(alice.pk, carol.pk)
    people.unfollow(alice.pk, bob.pk)
    assert read_sentences(alice) == []
    people.unmute(alice.pk, carol.pk)
    assert read_sentences(alice) == ["carol reviewed Emma."]
    Review.objects.get(user=carol).post.delete()
    assert read_sentences(alice) == []


def test_imported_reviews_notify_nobody(readers: list[User]) -> None:
    alice, bob, *_ = readers
    book = Book.objects.create(title="Emma")
    people.follow(alice.pk, bob.pk)
    put_on_shelf(alice.pk, book.pk, Shelf.WANT, TODAY)
    create_reviews(bob.pk, [NewReview(book.pk, "A good book for @alice", timezone.localdate())])
    assert read_sentences(alice) == []


def test_ratings_and_removed_books_notify_nobody(readers: list[User]) -> None:
    alice, bob, *_ = readers
    book = Book.objects.create(title="Emma")
    people.follow(alice.pk, bob.pk)
    put_on_shelf(alice.pk, book.pk, Shelf.WANT, TODAY)
    rate_book(bob.pk, book.pk, 8, TODAY)
    assert read_sentences(alice) == []
    write_review(bob.pk, book.pk, Draft("A good book", 8), TODAY)
    assert read_sentences(alice) == ["bob reviewed Emma."]
    remove_from_shelf(alice.pk, book.pk)
    assert read_sentences(alice) == []
