"""Bulk creation of posts and follows: few statements, slices, captured changes, and idempotence."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import IntegrityError, transaction

from accounts.models import User
from mirror.models import Change
from mirror.redis.recorder import record
from social.bulk import NewFollow, NewPost, create_follows, create_posts
from social.models import Follow, Hashtag, Mention, Post, Pulled

APRIL = datetime(2004, 4, 15, 14, 56, 1, tzinfo=UTC)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def people() -> list[int]:
    return [user.pk for user in User.objects.bulk_create(User(username=f"reader {n}") for n in range(5))]


def said(author: int, count: int) -> list[NewPost]:
    """Return posts of an author, a minute apart."""
    return [NewPost(author, f"key {n}", f"What “{n}” says: 好", APRIL + timedelta(minutes=n)) for n in range(count)]


def test_posts_keep_their_times_and_order(people: list[int]) -> None:
    wanted = [*said(people[1], 3), *said(people[0], 2)]
    assert create_posts(wanted) == 5
    rows = Post.objects.order_by("pk").values_list("user_id", "key", "text", "created_at", "book_id")
    assert list(rows) == list(wanted)
    assert not Post.objects.filter(is_hidden=True).exists()


def test_existing_posts_stay_unchanged(people: list[int]) -> None:
    create_posts(said(people[0], 3))
    Post.objects.filter(key="key 1").update(text="Something else.", is_hidden=True)
    Post.objects.filter(key="key 2").delete()
    before = list(Post.objects.values())
    newest = Change.objects.order_by("-pk").values_list("pk", flat=True)[0]
    assert create_posts(said(people[0], 2)) == 0
    assert list(Post.objects.values()) == before
    assert not Change.objects.filter(pk__gt=newest).exists()
    assert create_posts(said(people[0], 4)) == 2


def test_duplicate_posts_are_created_once(people: list[int]) -> None:
    assert create_posts([*said(people[0], 1), *said(people[0], 1)]) == 1


def test_authors_may_use_equal_keys(people: list[int]) -> None:
    assert create_posts([*said(people[0], 1), *said(people[1], 1)]) == 2


def test_each_pair_has_one_follow(people: list[int]) -> None:
    a, b, c, *_ = people
    assert create_follows([NewFollow(a, b, APRIL), NewFollow(b, a, APRIL), NewFollow(a, b, APRIL + timedelta(1))]) == 2
    assert create_follows([NewFollow(a, b, APRIL + timedelta(2)), NewFollow(c, b, APRIL)]) == 1
    rows = Follow.objects.order_by("pk").values_list("follower_id", "followee_id", "created_at")
    assert list(rows) == [(a, b, APRIL), (b, a, APRIL), (c, b, APRIL)]


def test_follows_of_oneself_or_missing_users_are_refused(people: list[int]) -> None:
    for followee in (people[0], 10**9):
        with pytest.raises(IntegrityError), transaction.atomic():
            create_follows([NewFollow(people[0], followee, APRIL)])
    assert not Follow.objects.exists()


def test_posts_of_missing_users_are_refused() -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        create_posts(said(10**9, 1))


def test_a_slice_is_one_statement_and_one_transaction(people: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("common.database.slices.SLICE_SIZE", 10)
    told: list[tuple[int, int]] = []
    with record() as recording:
        create_posts(said(people[0], 25), told=lambda rows: told.append((rows, Post.objects.count())))
    assert told == [(10, 10), (10, 20), (5, 25)]
    statements = [sql for sql, _ in recording.sql if "INSERT" in sql]
    assert len(statements) == 3


def test_a_failure_keeps_earlier_slices(people: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("common.database.slices.SLICE_SIZE", 10)
    with pytest.raises(IntegrityError):
        create_posts([*said(people[0], 10), *said(people[1], 5), *said(10**9, 1)])
    assert Post.objects.count() == 10
    assert create_posts([*said(people[0], 10), *said(people[1], 5)]) == 5


def test_every_new_row_is_captured(people: list[int]) -> None:
    create_posts(said(people[0], 3))
    create_follows([NewFollow(people[0], people[1], APRIL)])
    changes = Change.objects.exclude(key="")
    assert changes.filter(mirror="post", source="").count() == 3
    assert changes.filter(mirror="timeline", source="social_post").count() == 3
    edges = changes.filter(mirror="follow", source="").values_list("key", flat=True)
    assert list(edges) == [f"{people[0]}:{people[1]}"]


@pytest.mark.parametrize(("state", "fetched"), [("turning", False), ("on", True), ("eased", False)])
def test_posts_of_pulled_authors_are_not_pushed(people: list[int], state: str, fetched: bool) -> None:
    Pulled.objects.create(user_id=people[0], state=state)
    create_posts([*said(people[0], 1), *said(people[1], 1)])
    assert dict(Post.objects.values_list("user_id", "is_pulled")) == {people[0]: fetched, people[1]: False}


def test_marked_texts_get_mentions_and_hashtags(people: list[int]) -> None:
    said = [
        NewPost(people[0], "1", "@reader 1 read it! #NowReading and #nowreading, #好书", APRIL),
        NewPost(people[1], "2", "Thanks, @Reader 0. @nobody else did, @reader 1.", APRIL),
        NewPost(people[1], "3", "Nothing to see: a@b, 1#2.", APRIL),
    ]
    for _ in range(2):
        create_posts(said, marked=True)
        mentions = Mention.objects.order_by("pk").values_list("post__key", "user_id", "name")
        assert list(mentions) == [
            ("1", people[1], "reader 1"),
            ("2", people[0], "Reader 0"),
            ("2", people[1], "reader 1"),
        ]
        hashtags = Hashtag.objects.order_by("pk").values_list("post__key", "name")
        assert list(hashtags) == [("1", "nowreading"), ("1", "好书")]


def test_unmarked_texts_stay_unread(people: list[int]) -> None:
    create_posts([NewPost(people[0], "1", "@reader 1 read it! #nowreading", APRIL)])
    assert not Mention.objects.exists()
    assert not Hashtag.objects.exists()


def test_mentions_and_hashtags_come_from_the_stored_text(people: list[int]) -> None:
    create_posts([NewPost(people[0], "1", "As it was. #first", APRIL)], marked=True)
    create_posts([NewPost(people[0], "1", "As it would be. #second", APRIL)], marked=True)
    assert list(Hashtag.objects.values_list("name", flat=True)) == ["first"]
