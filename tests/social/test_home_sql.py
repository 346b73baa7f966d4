"""Home timelines by SQL, compared with plain Python for many authors, any cursor and any length."""

import random

import pytest

from accounts.models import User
from common.ids import MAX_ID
from social.models import Block, Mute, Post, Pulled
from social.queries import home
from tests.support.social.naive import facts
from tests.support.social.timelines import follow, make_posts, make_users

pytestmark = [pytest.mark.django_db, pytest.mark.also_on("sqlite")]


@pytest.fixture
def readers() -> list[User]:
    """Create five readers with between none and many of fourteen authors, who also follow each other."""
    dice = random.Random(5)
    authors, readers = make_users(*(f"author {n}" for n in range(14))), make_users("ann", "ben", "cal", "dan", "eve")
    counts = [0, 1, 2, 3, 4, 5, 8, 9, 12, 20, 30, 40, 60, 7]
    order = [author for author, count in zip(authors, counts, strict=True) for _ in range(count)]
    dice.shuffle(order)
    for author in [*order, readers[0], readers[2], authors[-1], readers[0]]:
        make_posts(author, is_hidden=dice.random() < 0.1, is_pulled=author == authors[11])
    follow(readers[0], *authors, *readers[1:])
    follow(readers[1], *authors[2:9])
    follow(readers[2], authors[12])
    follow(readers[4], authors[10], authors[11], readers[0])
    Mute.objects.create(user=readers[0], muted=authors[5])
    Block.objects.create(blocker=authors[6], blocked=readers[0])
    Block.objects.create(blocker=readers[1], blocked=authors[7])
    Pulled.objects.create(user=authors[11], state=Pulled.State.ON)
    User.objects.filter(pk=authors[8].pk).update(is_active=False)
    return readers


@pytest.mark.parametrize("limit", [1, 3, 4, 5, 24, 100, 1000])
def test_home_timelines_equal_plain_python(readers: list[User], limit: int) -> None:
    said = facts()
    ids = sorted(Post.objects.values_list("pk", flat=True))
    for reader in readers:
        wanted = said.home(reader.pk)
        for below in (MAX_ID, ids[-1], ids[len(ids) // 2], ids[3], ids[0], 1):
            found = home.find_home_posts(reader.pk, below, limit)
            assert found == [pk for pk in wanted if pk < below][:limit]


@pytest.mark.parametrize("limit", [1, 3, 4, 5, 24, 401])
def test_pushed_posts_of_many_readers_equal_plain_python(readers: list[User], limit: int) -> None:
    said, pulled = facts(), dict(Post.objects.values_list("pk", "is_pulled"))
    found = home.find_pushed_posts([str(reader.pk) for reader in readers], limit)
    for reader in readers:
        wanted = [pk for pk in said.home(reader.pk) if not pulled[pk]][:limit]
        assert list(found.get(str(reader.pk), [])) == wanted


def test_pulled_authors_find_their_own_posts_pushed(readers: list[User]) -> None:
    star = readers[3]
    own = make_posts(star, 3, is_pulled=True)
    follow(readers[4], star)
    assert home.find_pushed_posts([str(star.pk)], 10) == {str(star.pk): [post.pk for post in reversed(own)]}
    assert not {post.pk for post in own} & set(home.find_pushed_posts([str(readers[4].pk)], 1000)[str(readers[4].pk)])
    assert {post.pk for post in own} <= set(home.find_home_posts(readers[4].pk, MAX_ID, 1000))


def test_inactive_readers_get_only_their_own_posts(readers: list[User]) -> None:
    User.objects.filter(pk=readers[0].pk).update(is_active=False)
    own = list(Post.objects.filter(user=readers[0], is_hidden=False).order_by("-pk").values_list("pk", flat=True))
    assert home.find_pushed_posts([str(readers[0].pk)], 100) == {str(readers[0].pk): own}
