"""Lists of readers, follows in common and suggestions: equal from Redis, from SQL and from plain Python."""

import random
from collections import Counter
from contextlib import nullcontext
from typing import Any

import pytest

from accounts.models import LoginStats, User
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from social import keys
from social.mirrors.edges import FollowMirror, ShunMirror
from social.mirrors.posts import PostMirror
from social.models import Block, Follow, Mute, Post, Pulled
from social.relations import common, suggestions
from social.relations import lists as people_lists
from social.relations.common import find_common_follows
from social.relations.lists import list_blocked, list_followers, list_following, list_muted
from social.relations.profiles import get_profile
from tests.support.accounts.people import NOON
from tests.support.warm_mirrors import rebuild

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("sqlite")]


def make_people(count: int) -> list[int]:
    made = User.objects.bulk_create(User(username=f"reader {n}") for n in range(count))
    return [user.pk for user in made]


def follow(*pairs: tuple[int, int]) -> None:
    """Create these follows in their order."""
    Follow.objects.bulk_create([Follow(follower_id=one, followee_id=other) for one, other in pairs])


def to_the_end(find: Any, *arguments: Any, **options: Any) -> list[int]:
    """Return the ids on all pages of a list."""
    found, after = [], None
    while True:
        page = find(*arguments, after, **options)
        found += [person.id for person in page.people]
        if page.after is None:
            return found
        assert after is None or page.after < after
        after = page.after


@pytest.fixture
def world() -> list[int]:
    """Create sixty readers with random follows, mutes and blocks; some are inactive, some have logged in."""
    ids, picked = make_people(60), random.Random(5)
    pairs = [(a, b) for a in ids for b in ids if a != b]
    blocks = picked.sample(pairs, 150)
    follow(*(pair for pair in picked.sample(pairs, 900) if pair not in blocks and pair[::-1] not in blocks))
    Block.objects.bulk_create(Block(blocker_id=a, blocked_id=b) for a, b in blocks)
    Mute.objects.bulk_create(Mute(user_id=a, muted_id=b) for a, b in picked.sample(pairs, 150))
    LoginStats.objects.bulk_create(
        LoginStats(user_id=pk, login_times=picked.randrange(1, 5), last_login_time=NOON) for pk in ids[:40]
    )
    User.objects.filter(pk__in=ids[::9]).update(is_active=False)
    rebuild()
    drain_all()
    return ids


class Told:
    """All relations in SQL, read once."""

    def __init__(self) -> None:
        self.active = set(User.objects.filter(is_active=True).values_list("pk", flat=True))
        self.follows = list(Follow.objects.order_by("-pk").values_list("follower_id", "followee_id"))
        self.blocks = set(Block.objects.values_list("blocker_id", "blocked_id"))
        self.mutes = set(Mute.objects.values_list("user_id", "muted_id"))

    def followees(self, pk: int) -> set[int]:
        """Return the active followees; follows of inactive ones count again when they return."""
        return {b for a, b in self.follows if a == pk and b in self.active}

    def blocked(self, one: int, other: int) -> bool:
        return (one, other) in self.blocks or (other, one) in self.blocks

    def seen(self, viewer: int, pk: int) -> bool:
        return pk in self.active and not self.blocked(viewer, pk) and (viewer, pk) not in self.mutes


def test_lists_show_each_visible_reader_once_newest_first(world: list[int]) -> None:
    told = Told()
    for viewer, owner in [(world[1], world[2]), (world[2], world[2]), (world[3], world[1]), (world[5], world[4])]:
        own = viewer == owner
        shown = [a for a, b in told.follows if b == owner and (told.seen(viewer, a) or (own and a in told.active))]
        assert to_the_end(list_followers, owner, viewer, size=3) == shown
        shown = [b for a, b in told.follows if a == owner and (told.seen(viewer, b) or (own and b in told.active))]
        assert to_the_end(list_following, owner, viewer, size=3) == shown
        assert to_the_end(list_following, owner, None, size=3) == [
            b for a, b in told.follows if a == owner and b in told.active
        ]


def test_lists_of_muted_and_blocked_readers(world: list[int]) -> None:
    told = Told()
    for owner in world[1:9]:
        muted = {b for a, b in told.mutes if a == owner and b in told.active and not told.blocked(owner, b)}
        blocked = {b for a, b in told.blocks if a == owner and b in told.active}
        assert sorted(to_the_end(list_muted, owner, size=2)) == sorted(muted)
        assert sorted(to_the_end(list_blocked, owner, size=2)) == sorted(blocked)


def test_lines_have_both_directions_of_follows(world: list[int]) -> None:
    told = Told()
    for person in list_followers(world[2], world[1]).people:
        assert person.is_following == ((world[1], person.id) in told.follows)
        assert person.follows_me == ((person.id, world[1]) in told.follows)


def test_a_list_is_complete_while_rows_come_and_go() -> None:
    owner, *crowd = make_people(41)
    follow(*((pk, owner) for pk in crowd[:30]))
    found, after, comers = [], None, iter(crowd[30:])
    while True:
        page = list_followers(owner, None, after, size=5)
        found += [person.id for person in page.people]
        after = page.after
        if after is None:
            break
        follow((next(comers), owner))  # newer than all other rows
        gone = page.people[2].id, crowd[2]  # one shown already, one still to come: neither appears again
        Follow.objects.filter(follower_id__in=gone).delete()
    assert found == [pk for pk in crowd[29::-1] if pk != crowd[2]]


def test_runs_of_hidden_readers_are_scanned_in_bounded_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(people_lists, "FURTHER_ROWS", (4, 4))
    owner, *crowd = make_people(41)
    follow(*((pk, owner) for pk in crowd))
    User.objects.filter(pk__in=crowd[1:]).update(is_active=False)
    with record() as seen:
        page = list_followers(owner, None, size=3)
    assert (page.people, len(seen.sql)) == ([], 3)
    assert page.after is not None
    assert to_the_end(list_followers, owner, None, size=3) == crowd[:1]


def test_counts_on_a_profile_equal_the_lengths_of_its_lists(world: list[int]) -> None:
    for viewer in (None, *world[1:9]):
        for owner in world[1:30]:
            profile = get_profile(owner, viewer)
            with sql_only():
                assert get_profile(owner, viewer) == profile
            if profile is None or profile.is_blocked:
                continue
            assert profile.followers == len(to_the_end(list_followers, owner, viewer))
            assert profile.following == len(to_the_end(list_following, owner, viewer))


def test_profile_costs_sql_only_for_viewers_with_blocks_or_mutes() -> None:
    alice, bob, carl, dora = make_people(4)
    follow((carl, bob), (dora, bob), (bob, carl))
    Mute.objects.create(user_id=alice, muted_id=carl)
    rebuild(["user", "post", "rated_post", "follow", "shun"])
    with record() as seen:
        profile = get_profile(bob, alice)
    assert profile is not None
    assert (profile.followers, profile.following) == (1, 0)
    assert (seen.round_trips, len(seen.sql)) == (1, 2)
    with record() as seen:
        profile = get_profile(bob, dora)
    assert profile is not None
    assert (profile.followers, profile.following) == (2, 1)
    assert (seen.round_trips, len(seen.sql)) == (1, 0)


def test_follows_in_common_equal_plain_python(world: list[int]) -> None:
    told = Told()
    for viewer in world[1:9]:
        for owner in world[10:30]:
            profile = get_profile(owner, viewer)
            with sql_only():
                assert get_profile(owner, viewer) == profile
            if profile is None or profile.is_blocked:
                assert (owner not in told.active) or told.blocked(viewer, owner)
                continue
            mine = {pk for pk in told.followees(viewer) if told.seen(viewer, pk)}
            found = find_common_follows(profile)
            for part, shared in (
                (found.followed_by, {pk for pk in mine if owner in told.followees(pk)}),
                (found.both_follow, mine & told.followees(owner)),
            ):
                assert (part.count, part.is_more) == (len(shared), False)
                assert [person.id for person in part.named] == sorted(shared)[:3]
            with sql_only():
                assert find_common_follows(profile) == found


def test_very_many_in_common_are_reported_as_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "MAX_COUNTED", 5)
    alice, bob, *crowd = make_people(12)
    follow(*((alice, pk) for pk in crowd), *((pk, bob) for pk in crowd))
    rebuild()
    profile = get_profile(bob, alice)
    assert profile is not None
    found = find_common_follows(profile)
    assert (found.followed_by.count, found.followed_by.is_more) == (5, True)
    assert found.both_follow == common.CommonReaders()
    with sql_only():
        assert find_common_follows(profile) == found


def test_large_sets_are_read_in_chunks_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "CHUNK_SIZE", 100)
    monkeypatch.setattr(common, "MAX_MEMBERS_READ", 300)
    alice, bob, *crowd = make_people(1502)
    follow(*((alice, pk) for pk in crowd), *((pk, bob) for pk in crowd))
    rebuild(["user", "post", "follow", "shun"])
    drain_all()
    profile = get_profile(bob, alice)
    assert profile is not None
    with record() as seen:
        found = find_common_follows(profile).followed_by
    assert found.count == 300
    assert found.is_more
    assert seen.round_trips == 3
    asked = [command for command in seen.commands if command.name == "SMISMEMBER" and len(command.args) > 102]
    assert asked == [command for command in asked if b"shuns" in str(command.args).encode()]


def test_structures_are_equal_in_redis_and_in_sql(world: list[int]) -> None:
    author = Told().follows[0][1]
    Post.objects.bulk_create(Post(user_id=pk, text="x", is_hidden=pk % 5 == 0) for pk in world[::3] for _ in range(3))
    Pulled.objects.create(user_id=author)
    drain_all()

    def read(pk: int | str) -> list[Any]:
        sets = [keys.following(pk), keys.followers(pk), keys.pulls(pk)]
        return [
            *(FollowMirror.members(key) for key in sets),
            *(FollowMirror.count(key) for key in sets),
            ShunMirror.members(keys.shuns(pk)),
            ShunMirror.count(keys.shuns(pk)),
            PostMirror.page(keys.posts_of(pk), 10, descending=True),
            PostMirror.count(keys.posts_of(pk)),
        ]

    owners: list[int | str] = [*world, 0, "no number"]
    found = [read(pk) for pk in owners]
    assert any(pulls == {author} for _, _, pulls, *_ in found)
    assert {posts for *_, posts in found} == {0, 3}
    with sql_only():
        assert [read(pk) for pk in owners] == found


def test_suggestions_equal_plain_python(world: list[int]) -> None:
    told = Told()
    for viewer in world[1:9]:
        mine = told.followees(viewer)
        counts = Counter(pk for one in mine for pk in told.followees(one))
        fit = [pk for pk in counts if pk != viewer and pk not in mine and told.seen(viewer, pk)]
        best = sorted(fit, key=lambda pk: (-counts[pk], pk))[: suggestions.MAX_SUGGESTIONS]
        found = suggestions.suggest_readers(viewer)
        assert [each.person.id for each in found] == best
        assert [each.count for each in found] == [counts[pk] for pk in best]
        with sql_only():
            assert suggestions.suggest_readers(viewer) == found


def test_newcomers_get_the_latest_authors_as_suggestions(world: list[int]) -> None:
    newcomer = User.objects.create(username="newcomer").pk
    Post.objects.bulk_create(Post(user_id=pk, text="Hello.") for pk in world[3:18:2])
    drain_all()
    posts = Post.objects.public().filter(parent_id=None).exclude(kind="rating").order_by("-pk")
    authors = posts.values_list("user_id", flat=True)[: suggestions.MAX_CANDIDATES]
    found = suggestions.suggest_readers(newcomer)
    assert [each.person.id for each in found] == list(dict.fromkeys(authors))[: suggestions.MAX_SUGGESTIONS]
    assert {each.count for each in found} == {0}
    with sql_only():
        assert suggestions.suggest_readers(newcomer) == found


def test_suggestions_sample_a_bounded_number_of_follows(world: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggestions, "MAX_FOLLOWEES", 4)
    monkeypatch.setattr(suggestions, "MAX_FOLLOWS_EACH", 3)
    told, viewer = Told(), world[1]
    for engine in (nullcontext, sql_only):
        with engine(), record() as seen:
            found = suggestions.suggest_readers(viewer)
        assert found
        assert sum(each.count for each in found) <= 12
        assert len(seen.commands) < 140
        assert all(told.seen(viewer, each.person.id) for each in found)
        assert not {each.person.id for each in found} & told.followees(viewer)
