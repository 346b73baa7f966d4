"""The leaderboard: ranks, pages and neighbours, with the same answers from Redis and from SQL."""

import random
from contextlib import nullcontext
from typing import Any

import pytest

from accounts import keys, selectors
from accounts.leaderboard.page import (
    NEIGHBOURS_PER_SIDE,
    PAGE_SIZE,
    SALT,
    Cursor,
    CursorKind,
    Leaderboard,
    Place,
    parse_cursor,
)
from accounts.models import LoginStats, User
from accounts.selectors import read_leaderboard
from accounts.services import record_login
from mirror.redis.clients import client as redis_client
from mirror.redis.recorder import record
from mirror.relay.sql_only import sql_only
from tests.support.accounts.people import NOON, assert_redis_equals_sql, make_people, warm_users

KINDS: tuple[CursorKind, ...] = ("after", "before")

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("cluster")]


def both(me: int | None = None, at: str = "", last: int = 10) -> Leaderboard:
    """Return the page, after checks that Redis needs two round trips and that SQL gives the same page."""
    with record() as seen:
        page = read_leaderboard(me, at, last)
    assert (seen.round_trips, seen.sql) == (2, [])
    with record() as seen, sql_only():
        by_sql = read_leaderboard(me, at, last)
    assert seen.round_trips == 0
    assert shown(page) == shown(by_sql)
    assert not any("OFFSET" in sql for sql, _ in seen.sql)
    return page


def shown(page: Leaderboard) -> tuple[Any, ...]:
    """Return everything that templates read from a page."""
    urls = page.next_url, page.previous_url, page.first_url, page.my_url, page.choices
    return page.board, page.most, page.me, page.neighbours, page.around, page.last, urls


def at_of(url: str | None) -> str:
    """Return the cursor in the URL of a page."""
    assert url is not None
    return url.partition("at=")[2].partition("&")[0].replace("%3A", ":")


def expected() -> list[tuple[int, int]]:
    """Return the whole board as (times, id), sorted in Python."""
    rows = LoginStats.objects.filter(user__is_active=True, login_times__gt=0).values_list("login_times", "user_id")
    return sorted(rows, key=lambda row: (row[0], str(row[1])), reverse=True)


def rank_of(pk: int) -> int:
    """Return 1 plus the number of users with more logins."""
    board = expected()
    mine = next(times for times, other in board if other == pk)
    return 1 + sum(times > mine for times, _ in board)


def test_the_page_shows_ranks_neighbours_and_last_logins() -> None:
    users = make_people([3, 9, 1])
    warm_users()
    page = both(users[0].pk)
    assert [(p.rank, p.name, p.login_times) for p in page.most] == [
        (1, "reader 1", 9),
        (2, "reader 0", 3),
        (3, "reader 2", 1),
    ]
    assert page.me == page.most[1]
    assert page.neighbours == [page.most[0], page.most[2]]
    assert [p.name for p in page.last] == ["reader 2", "reader 1", "reader 0"]
    assert (page.next_url, page.previous_url, page.count) == (None, None, 3)


def test_equal_counts_share_a_rank_and_the_next_rank_skips() -> None:
    make_people([7, 7, 3, 3, 3, 1])
    warm_users()
    assert [p.rank for p in both().most] == [1, 1, 3, 3, 3, 6]


def test_ranks_continue_inside_a_tie_across_pages() -> None:
    users = make_people([5] * 30 + [2] * 5)
    warm_users()
    second = both(at=at_of(both().next_url))
    assert [p.rank for p in second.most] == [1] * 10 + [31] * 5
    assert both(users[31].pk).me == next(p for p in second.most if p.id == users[31].pk)


def test_ties_are_ordered_by_the_id_as_text_descending() -> None:
    for pk in (9, 10, 100, 11, 2):
        record_login(User.objects.create(id=pk, username=f"reader {pk}", shows_logins=True))
    warm_users()
    assert [p.id for p in both().most] == [9, 2, 11, 100, 10]


def test_the_board_has_only_active_users_with_logins() -> None:
    users = make_people([5, 0, 4])
    make_people([9], is_active=False)
    warm_users()
    page = both(users[1].pk)
    assert [p.id for p in page.most] == [users[0].pk, users[2].pk]
    assert (page.me, page.neighbours) == (None, [])
    assert {p.id for p in page.last} == {users[0].pk, users[2].pk}


def test_an_empty_board_costs_one_round_trip() -> None:
    warm_users()
    with record() as seen:
        page = read_leaderboard(None)
    assert (seen.round_trips, seen.sql) == (1, [])
    with sql_only():
        assert shown(read_leaderboard(None)) == shown(page)
    assert (page.most, page.last, page.count) == ([], [], 0)


@pytest.mark.parametrize("most", [1, 4, 1000])
def test_every_page_can_be_reached_in_both_directions(most: int) -> None:
    chance = random.Random(most)
    make_people(chance.randint(0, most) for _ in range(130))
    make_people([chance.randint(0, most) for _ in range(20)], is_active=False)
    warm_users()
    forth = [page := both()]
    while page.next_url:
        forth.append(page := both(at=at_of(page.next_url)))
    assert [(p.login_times, p.id) for page in forth for p in page.most] == expected()
    assert all(p.rank == rank_of(p.id) for page in forth for p in page.most)
    back = [page]
    while page.previous_url:
        back.append(page := both(at=at_of(page.previous_url)))
    assert [p.id for p in back[-1].most] == [p.id for p in forth[0].most]
    assert {p.id for page in back for p in page.most} == {p.id for page in forth for p in page.most}
    assert all(len(page.most) == PAGE_SIZE for page in back[1:])


def test_each_user_finds_the_own_place_and_neighbours() -> None:
    chance = random.Random(1)
    make_people(chance.randint(1, 12) for _ in range(45))
    warm_users()
    board = expected()
    for number, (times, pk) in enumerate(board):
        page = both(pk, "me")
        with record() as seen:
            rank = selectors.find_rank(pk)
        assert (seen.round_trips, seen.sql) == (1, [])
        assert rank == rank_of(pk)
        with sql_only():
            assert selectors.find_rank(pk) == rank_of(pk)
        assert pk in [p.id for p in page.most]
        assert page.me
        assert (page.me.rank, page.me.login_times) == (rank_of(pk), times)
        beside = board[max(0, number - NEIGHBOURS_PER_SIDE) : number + NEIGHBOURS_PER_SIDE + 1]
        assert [p.id for p in page.neighbours] == [other for _, other in beside if other != pk]


def test_a_user_outside_the_board_has_no_rank() -> None:
    users = make_people([0, 3])
    make_people([5], is_active=False)
    warm_users()
    for pk in (users[0].pk, users[1].pk + 1, 987654):
        assert selectors.find_rank(pk) is None
        with sql_only():
            assert selectors.find_rank(pk) is None


def test_an_anonymous_visitor_has_no_place() -> None:
    make_people([1] * 25)
    warm_users()
    assert shown(both(None, "me"))[:6] == shown(both(None))[:6]


def test_a_vacant_place_is_a_valid_cursor() -> None:
    users = make_people(n % 5 + 1 for n in range(50))
    warm_users()
    for times in range(7):
        for pk in (0, 1, users[7].pk, users[-1].pk + 1, 10 * users[30].pk, 99, 2**62):
            for kind in KINDS:
                both(at=Cursor(kind, Place(times, pk)).text())


def test_a_cursor_keeps_its_place_when_its_user_moves() -> None:
    users = make_people([9] * 25)
    warm_users()
    page = both()
    LoginStats.objects.filter(user_id=page.most[-1].id).update(login_times=4)
    LoginStats.objects.filter(user_id=page.most[0].id).update(login_times=99)
    assert_redis_equals_sql()
    rest = both(at=at_of(page.next_url))
    assert page.most[-1].id in [p.id for p in rest.most]
    assert len({*(p.id for p in page.most), *(p.id for p in rest.most)}) == len(users)


def test_a_user_that_fell_behind_the_cursor_is_not_skipped() -> None:
    users = make_people([4, 3])
    warm_users()
    page = both(at=Cursor("after", Place(9, users[0].pk)).text())
    assert [p.id for p in page.most] == [user.pk for user in users]


def test_a_forged_cursor_gives_the_first_page() -> None:
    make_people(range(1, 50))
    warm_users()
    first = both()
    cursor = at_of(first.next_url)
    for wrong in (cursor[:-1] + ("A" if cursor[-1] != "A" else "B"), "nonsense", cursor + "x", "a:b", "\0", "me "):
        assert both(at=wrong).most == first.most
    assert both(at=cursor).most != first.most
    assert parse_cursor("1:2").kind == "first"
    assert SALT.startswith("accounts.leaderboard")


def test_a_cursor_past_the_end_gives_the_first_page() -> None:
    make_people([3, 2])
    warm_users()
    assert both(at=Cursor("after", Place(1, 1)).text()).most == both().most


@pytest.mark.parametrize(("asked", "given"), [(0, 1), (-5, 1), (1, 1), (7, 7), (100, 100), (100_000, 100)])
def test_the_number_of_last_logins_is_bounded(asked: int, given: int) -> None:
    make_people([1] * 120)
    warm_users()
    page = both(last=asked)
    newest = LoginStats.objects.order_by("-last_login_time").values_list("user_id", flat=True)
    assert [p.id for p in page.last] == list(newest[:given])


def test_times_are_iso_8601_in_utc() -> None:
    users = make_people([1])
    warm_users()
    (last,) = both().last
    assert last == (users[0].pk, "reader 0", "2026-03-01T12:00:00+00:00")
    assert last.time == NOON


def test_only_readers_who_agree_are_shown_to_others() -> None:
    open_one, hidden, other = make_people([5, 9, 2])
    User.objects.filter(pk=hidden.pk).update(shows_logins=False)
    warm_users()
    for viewer in (None, open_one.pk):
        page = both(viewer)
        assert [p.id for p in page.most] == [open_one.pk, other.pk]
        assert {p.id for p in page.last} == {open_one.pk, other.pk}
        assert page.count == 2
    mine = both(hidden.pk)
    assert mine.me == (1, hidden.pk, hidden.username, 9), "the own rank is that among all readers"
    assert mine.neighbours == []
    for way in (nullcontext, sql_only):
        with way():
            whole = read_leaderboard(open_one.pk, is_whole=True)
            assert [p.id for p in whole.most] == [hidden.pk, open_one.pk, other.pk]
            assert {p.id for p in whole.last} == {hidden.pk, open_one.pk, other.pk}
    redis = redis_client()
    assert redis.zcard(keys.login_times()) == redis.llen(keys.last_login_times()) == 3
    hidden.refresh_from_db()
    hidden.shows_logins = True
    hidden.save()
    assert_redis_equals_sql()
    assert [p.id for p in both().most] == [hidden.pk, open_one.pk, other.pk]
    assert both().last[0].id == other.pk


def test_a_user_deactivated_between_the_round_trips_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    users = make_people([3, 2])
    warm_users()
    read_people = selectors._find_records

    def go_first(*given: Any) -> Any:
        User.objects.filter(pk=users[0].pk).update(is_active=False)
        assert_redis_equals_sql()
        return read_people(*given)

    monkeypatch.setattr(selectors, "_find_records", go_first)
    page = read_leaderboard(users[1].pk)
    assert [p.id for p in page.most] == [p.id for p in page.last] == [users[1].pk]


def test_sql_answers_for_an_emptied_redis() -> None:
    users = make_people([3, 2])
    warm_users()
    redis_client().flushdb()
    with record() as seen:
        page = read_leaderboard(users[1].pk)
    assert seen.sql
    assert [p.id for p in page.most] == [users[0].pk, users[1].pk]


def test_a_page_needs_few_commands_for_any_size() -> None:
    users = make_people(n // 3 + 1 for n in range(300))
    warm_users()
    with record() as seen:
        read_leaderboard(users[150].pk, "me", 5)
    names = [command.name for command in seen.commands if command.name != "MGET"]
    assert names[:3] == ["EVAL", "ZREVRANGEBYSCORE", "EVAL"]
    assert names[3:] == ["HGETALL"] * (len(names) - 4) + ["SMISMEMBER"]  # hidden users
    assert len(names) <= 3 + PAGE_SIZE + 2 * NEIGHBOURS_PER_SIDE + 1 + 5 + 1
    assert {k for c in seen.commands if c.name == "EVAL" for k in c.args if k == keys.shown_login_times()}
