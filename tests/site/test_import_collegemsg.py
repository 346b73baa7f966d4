"""``manage.py import_collegemsg`` imports people, their logins, follows and posts."""

import json
from collections import Counter
from datetime import UTC, datetime
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db.models import Count, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce
from redis import Redis

from accounts import keys
from accounts.models import LoginStats, User
from demo.collegemsg import build_user_name, invent_text
from loginlog.archive import expiry
from mirror.models import Change
from mirror.relay import drains
from mirror.upkeep.rebuild import rebuild
from mirror.verify import runs
from mirror.windows import window
from mirror.windows.declare import CUT, SENTINEL, WHOLE
from social.models import Follow, Post
from social.queries.home import find_home_posts
from social.selectors import get_home_timeline
from tests.support import real_data, samples
from tests.support.loginlog.ranges import check_ranges
from tests.support.mirror.command import run
from tests.support.social.timelines import check_pages, timeline_mirror

LINES = "1 2 1082040961\n2 3 1082040962\n1 3 1082127361\n"


def imported(path: Path, *options: str) -> dict[str, Any]:
    """Run the import and return its report."""
    code, out, err = run(str(path), "--json", *options, name="import_collegemsg")
    assert code == 0, err
    report: dict[str, Any] = json.loads(out)
    return report


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "CollegeMsg.txt"
    path.write_text(LINES)
    return path


@pytest.mark.django_db(transaction=True)
def test_logins_keep_their_times(small: Path) -> None:
    report = imported(small)
    assert (report["people"], report["logins"], report["counted"], report["days"]) == (3, 3, 2, 3)
    stats = LoginStats.objects.select_related("user").order_by("user__username")
    assert [(s.user.username, s.login_times, s.last_login_time) for s in stats] == [
        ("student 1", 2, datetime.fromtimestamp(1082127361, tz=UTC)),
        ("student 2", 1, datetime.fromtimestamp(1082040962, tz=UTC)),
    ]
    assert not any(user.has_usable_password() for user in User.objects.all())


@pytest.mark.django_db(transaction=True)
def test_second_import_changes_nothing(small: Path) -> None:
    imported(small)
    before = list(LoginStats.objects.order_by("pk").values())
    report = imported(small)
    assert all(report[what] == 0 for what in ("people", "counted", "days", "follows", "posts"))
    assert list(LoginStats.objects.order_by("pk").values()) == before
    assert (Follow.objects.count(), Post.objects.count()) == (3, 3)
    assert "nothing changed" in run(str(small), name="import_collegemsg").out


@pytest.mark.django_db(transaction=True)
def test_each_line_becomes_a_post_and_a_follow(small: Path) -> None:
    small.write_text(LINES + "1 2 1082127362\n3 3 1082127363\n")
    report = imported(small)
    assert (report["follows"], report["posts"]) == (3, 5)
    said = Post.objects.order_by("pk").values_list("user__username", "key", "text", "created_at")
    assert list(said) == [
        (build_user_name(author), f"collegemsg:{line}", invent_text(line), datetime.fromtimestamp(at, tz=UTC))
        for line, (author, at) in enumerate(
            [(1, 1082040961), (2, 1082040962), (1, 1082127361), (1, 1082127362), (3, 1082127363)], 1
        )
    ]
    followed = Follow.objects.order_by("pk").values_list("follower__username", "followee__username", "created_at")
    assert list(followed) == [
        (build_user_name(reader), build_user_name(author), datetime.fromtimestamp(at, tz=UTC))
        for reader, author, at in [(2, 1, 1082040961), (3, 2, 1082040962), (3, 1, 1082127361)]
    ]


@pytest.mark.django_db(transaction=True)
def test_full_import_completes_a_limited_one(small: Path) -> None:
    assert imported(small, "--limit", "1")["people"] == 2
    report = imported(small)
    assert (report["people"], report["counted"], report["days"]) == (1, 2, 2)
    assert (report["follows"], report["posts"]) == (2, 2)
    assert LoginStats.objects.get(user__username="student 1").login_times == 2


@pytest.mark.django_db(transaction=True)
def test_bad_line_is_reported_and_nothing_is_written(small: Path) -> None:
    small.write_text(LINES + "1 two 1082040961\n")
    code, out, err = run(str(small), name="import_collegemsg")
    assert (code, out) == (2, "")
    assert "line 4, column DST: 'two'" in err
    assert not User.objects.exists()


@pytest.mark.django_db
def test_empty_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "CollegeMsg.txt"
    path.touch()
    assert run(str(path), name="import_collegemsg")[0] == 1


@pytest.mark.parametrize(
    ("whole_file", "posts", "people", "pairs", "readers"),
    [
        pytest.param(samples.COLLEGEMSG, 3000, 160, 1069, 12, id="sample"),
        pytest.param(
            real_data.COLLEGEMSG, 6_000, 566, 2341, 25, id="real",
            marks=[pytest.mark.real_data, pytest.mark.slow(15)],
        ),
    ],
)  # fmt: skip
@pytest.mark.django_db(transaction=True)
def test_an_imported_file_agrees_with_mirrors_home_timelines_and_login_log(
    redis: Redis,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    whole_file: Path,
    posts: int,
    people: int,
    pairs: int,
    readers: int,
) -> None:
    """The expected figures are counted here from the first lines of the file, without the importer."""
    file = tmp_path / "CollegeMsg.txt"
    with whole_file.open() as lines:
        file.write_text("".join(islice(lines, posts)))
    imported(file, "--limit", str(posts // 3))
    rebuild()
    drains.drain_all()
    chosen = choose_readers(readers)
    assert len(chosen) == readers
    for reader in chosen:
        assert window.warm(timeline_mirror(), str(reader))  # a warm timeline receives new posts by fan-out
    sources = Counter(line.split()[0] for line in file.read_text().splitlines())
    report = imported(file)
    assert (report["logins"], User.objects.count()) == (posts, people)
    assert (Follow.objects.count(), Post.objects.count()) == (pairs, posts)
    counts = dict(LoginStats.objects.values_list("user__username", "login_times"))
    assert counts == {build_user_name(int(source)): count for source, count in sources.items()}
    assert dict(Post.objects.values_list("user__username").annotate(Count("pk"))) == counts
    call_command("mirror", "drain")
    assert not Change.objects.pending().exists()
    assert runs.verify() == []
    (best, score), *_ = redis.zrevrange(keys.login_times(), 0, 0, withscores=True)
    assert score == max(sources.values())
    assert User.objects.get(pk=int(best)).username in {
        build_user_name(int(s)) for s, n in sources.items() if n == score
    }
    check_ranges(file)
    monkeypatch.setattr(
        "social.timelines.home.find_home_posts", cache(find_home_posts)
    )  # valid, because nothing is written from here on
    ends = set()
    for reader in chosen:
        ends.add(redis.zscore(timeline_mirror().record_key(str(reader)), SENTINEL))
        followed = Follow.objects.filter(follower=reader).values("followee")
        wanted = Post.objects.filter(Q(user=reader) | Q(user__in=followed)).order_by("-pk")
        check_pages(partial(get_home_timeline, reader), list(wanted.values_list("pk", flat=True)))
    assert ends == {WHOLE, CUT}
    drains.drain_all()
    expiry.expire_months(31)
    assert not list(redis.scan_iter("*loginLog_*"))
    check_ranges(file)


def choose_readers(count: int) -> list[int]:
    """Return the ids of ``count`` people: three with the most follows, two with the fewest, and some between."""
    number = Follow.objects.filter(follower=OuterRef("pk")).order_by().values("follower").annotate(n=Count("pk"))
    followed = Coalesce(Subquery(number.values("n")), 0)
    people = list(User.objects.annotate(n=followed).order_by("-n", "pk").values_list("pk", flat=True))
    between = count - 5
    return [*people[:3], *people[3:-2][:: len(people) // between][:between], *people[-2:]]
