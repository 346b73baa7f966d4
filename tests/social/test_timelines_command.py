"""``manage.py timelines``: rebuilding home timelines of named or of all active readers."""

from datetime import timedelta

import pytest
from django.utils import timezone
from redis import Redis

from accounts.models import LastSeen, LoginStats, Session, User
from mirror.redis.naming import marker
from mirror.windows.declare import SENTINEL, WHOLE
from social import keys
from social.management.commands import timelines as timelines_command
from social.mirrors.windows import ACTIVE_SECONDS
from tests.support.mirror.command import Ran, Terminal, run
from tests.support.servers import RedisServer
from tests.support.social.timelines import follow, make_posts, make_users, warm_up

pytestmark = pytest.mark.django_db(transaction=True)
NOW = timezone.now()


def timelines(*arguments: str) -> Ran:
    return run(*arguments, name="timelines")


def was_here(user: User, *, days: float) -> None:
    LoginStats.objects.create(user=user, login_times=1, last_login_time=timezone.now() - timedelta(days=days))


def is_ready(redis: Redis, user: User) -> bool:
    return redis.zscore(keys.timeline(user.pk), SENTINEL) == WHOLE


def test_timelines_of_named_readers_are_rebuilt(redis: Redis) -> None:
    alice, bob, charlie = make_users("alice", "bob", "charlie")
    follow(alice, bob)
    posts = make_posts(bob, 3)
    warm_up()
    done = timelines("rebuild", "--user", "ALICE", "--user", "bob", "--json")
    assert (done.code, done.said) == (0, {"made": 2, "not_made": []})
    assert redis.zrevrange(keys.timeline(alice.pk), 0, -2) == [str(post.pk).encode() for post in reversed(posts)]
    assert [is_ready(redis, user) for user in (alice, bob, charlie)] == [True, True, False]
    assert 0 < redis.ttl(keys.timeline(alice.pk)) <= ACTIVE_SECONDS


def test_a_rebuild_corrects_a_wrong_timeline(redis: Redis) -> None:
    alice, bob = make_users("alice", "bob")
    follow(alice, bob)
    (post,) = make_posts(bob)
    warm_up(alice)
    redis.zrem(keys.timeline(alice.pk), post.pk)
    redis.zadd(keys.timeline(alice.pk), {"999": 999})
    assert timelines("rebuild", "--user", "alice").code == 0
    members = redis.zrange(keys.timeline(alice.pk), 0, -1)
    assert members == [SENTINEL.encode(), str(post.pk).encode()]


def test_all_active_means_recently_logged_in_or_seen(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("social.timelines.active.USERS_PER_SLICE", 2)
    logged_in, seen, long_ago, never, gone, *more = make_users(
        "logged in", "seen", "long ago", "never", "gone", "one", "two", "three"
    )
    for user in (logged_in, gone, *more):
        was_here(user, days=6.9)
    for user in (seen, long_ago):
        was_here(user, days=7.1)
    session = Session.objects.create(session_key="s" * 64, user=seen, expire_date=NOW + timedelta(days=9))
    LastSeen.objects.update_or_create(session=session, defaults={"seen_at": NOW - timedelta(hours=1)})
    User.objects.filter(pk=gone.pk).update(is_active=False)
    warm_up()
    done = timelines("rebuild", "--all-active", "--json")
    assert (done.code, done.said) == (0, {"made": 5, "not_made": []})
    everybody = (logged_in, seen, *more, long_ago, never, gone)
    assert [is_ready(redis, user) for user in everybody] == [True] * 5 + [False] * 3
    assert timelines("status", "--json").said == {"active": 5, "warm": 5}
    redis.delete(keys.timeline(seen.pk))
    assert timelines("status").out == "5 readers were active in the last 7 days; 4 of their home timelines are warm\n"


def test_a_choice_of_readers_is_required(redis: Redis) -> None:
    done = timelines("rebuild")
    assert (done.code, done.out) == (2, "")
    assert done.err == "give --user NAME (may be repeated) or --all-active\n"


def test_names_and_all_active_exclude_each_other() -> None:
    with pytest.raises(Exception, match="not allowed with argument"):
        timelines("rebuild", "--user", "alice", "--all-active")


def test_an_unknown_name_is_reported_and_nothing_is_rebuilt(redis: Redis) -> None:
    (alice,) = make_users("alice")
    warm_up()
    done = timelines("rebuild", "--user", "alice", "--user", "Nobody")
    assert (done.code, done.err) == (2, "readers not found: 'Nobody'\n")
    assert not is_ready(redis, alice)


def test_readers_deleted_meanwhile_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    _, bob = make_users("alice", "bob")
    warm_up()
    monkeypatch.setattr(
        f"{timelines_command.__name__}._refuse_while_cold", lambda: User.objects.get(pk=bob.pk).delete()
    )
    done = timelines("rebuild", "--user", "alice", "--user", "bob")
    assert done.code == 1
    assert done.out == f"1 home timeline built\n1 not built: {bob.pk} (deleted meanwhile, or a mirror became cold)\n"


def test_a_cold_mirror_prevents_a_rebuild(redis: Redis) -> None:
    make_users("alice")
    warm_up()
    redis.delete(marker("follow"))
    done = timelines("rebuild", "--user", "alice")
    assert (done.code, done.err) == (2, "cold: follow; run first: mirror rebuild follow\n")


def test_an_unreachable_redis_is_one_line(redis_server: RedisServer) -> None:
    make_users("alice")
    redis_server.kill()
    done = timelines("rebuild", "--user", "alice")
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1


def test_progress_is_shown_on_a_terminal() -> None:
    make_users("alice")
    warm_up()
    done = run("rebuild", "--user", "alice", name="timelines", err=Terminal())
    assert "timelines: 100%" in done.err
