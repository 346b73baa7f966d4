"""The leaderboard in HTML and in JSON, and the login page of the admin."""

import re
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from accounts.leaderboard.page import PAGE_SIZE
from accounts.models import User
from accounts.template_functions import ordinal
from mirror.redis.recorder import record
from mirror.relay.sql_only import sql_only
from tests.support.accounts.people import make_people, warm_users
from tests.support.site.html import find_policy_violations

BOARD, JSON = "/accounts/leaderboard/", {"Accept": "application/json"}

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def people() -> list[User]:
    """Make users for a page and a half. The last one has the most logins."""
    made = make_people(range(1, PAGE_SIZE + 11))
    warm_users()
    return made


def page_of(client: Client, query: str = "") -> str:
    return client.get(BOARD + query).content.decode()


def test_the_page_shows_users_and_links(client: Client, people: list[User]) -> None:
    page = page_of(client)
    assert "reader 29" in page
    assert "reader 9<" not in page.partition("Recent logins")[0]
    assert 'rel="next"' in page
    assert 'rel="prev"' not in page
    assert "My rank" not in page
    assert {"Accept", "Cookie"} <= set(client.get(BOARD).headers["Vary"].split(", "))
    assert find_policy_violations(page) == []


def test_the_json_has_the_same_data(client: Client, people: list[User]) -> None:
    found = client.get(BOARD, headers=JSON).json()
    assert found.keys() == {"count", "most", "me", "neighbours", "last", "next", "previous"}
    assert found["count"] == 30
    assert found["most"][0] == {"rank": 1, "id": people[29].pk, "name": "reader 29", "login_times": 30}
    assert found["last"][0].keys() == {"id", "name", "last_login_time"}
    assert len(found["last"]) == 10
    assert (found["me"], found["neighbours"], found["previous"]) == (None, [], None)
    second = client.get(found["next"], headers=JSON).json()
    assert [p["rank"] for p in second["most"]] == list(range(21, 31))
    assert second["next"] is None
    assert client.get(second["previous"], headers=JSON).json()["most"] == found["most"]
    assert client.get(found["next"]).content.decode().count('<tr><td class="number">') == 10


def test_the_page_has_cards_and_the_table_of_the_login_report(client: Client, people: list[User]) -> None:
    page = client.get(BOARD).content.decode()
    assert '<table class="plain ranking">' in page
    assert ('class="board-most sheet"' in page, 'class="board-last sheet"' in page) == (True, True)


def test_each_row_has_a_picture_and_numbers_in_columns(client: Client, people: list[User]) -> None:
    User.objects.filter(pk=people[29].pk).update(avatar="30-abc")
    warm_users()
    page = page_of(client)
    number = r'<td class="number">\d+</td>'
    bar = r'<td class="bar"><svg [^>]*><rect width="\d+" height="8"/></svg></td>'
    rows = re.findall(rf'<tr(?: class="top")?>{number}<th scope="row">(.*?)</th>{bar}{number}</tr>', page)
    assert [re.findall('class="avatar', row) for row in rows] == [['class="avatar']] * PAGE_SIZE
    assert '<img class="avatar" src="/media/avatars/30-abc-' in rows[0]
    assert page.count('<li><span class="who">') == 10


def test_a_visitor_costs_one_round_trip_and_a_reader_two(client: Client, people: list[User]) -> None:
    client.get(BOARD)
    with record() as seen:
        client.get(BOARD)
    assert (seen.round_trips, seen.sql) == (1, [])
    client.force_login(people[3])
    warm_all(client)
    with record() as seen:
        client.get(BOARD)
    assert (seen.round_trips, seen.sql) == (2, [])


def warm_all(client: Client) -> None:
    """Warm all mirrors, including sessions, and make a first request."""
    from tests.support.warm_mirrors import rebuild

    rebuild()
    client.get(BOARD)


def test_a_reader_sees_the_own_place_and_neighbours(client: Client, people: list[User]) -> None:
    client.force_login(people[2])  # this login counts: the third user has four logins now, like the fourth
    page = page_of(client)
    assert "My rank" in page
    assert page.count('class="me"') == 1
    found = client.get(f"{BOARD}?at=me", headers=JSON).json()
    assert found["me"] == {"rank": 27, "id": people[2].pk, "name": "reader 2", "login_times": 4}
    assert len(found["neighbours"]) == 4
    assert people[2].pk in [p["id"] for p in found["most"]]
    assert page_of(client, "?at=me").count('class="me"') == 2


@pytest.mark.parametrize(("asked", "given"), [("3", 3), ("0", 1), ("999", 30), ("x", 10), ("-1", 10), ("", 10)])
def test_the_visitor_chooses_the_number_of_last_logins(
    client: Client, people: list[User], asked: str, given: int
) -> None:
    found = client.get(f"{BOARD}?last={asked}", headers=JSON).json()
    assert [p["name"] for p in found["last"]] == [f"reader {29 - n}" for n in range(given)]


def test_paging_keeps_the_number_of_last_logins(client: Client, people: list[User]) -> None:
    found = client.get(f"{BOARD}?last=30", headers=JSON).json()
    assert "last=30" in found["next"]
    assert "?last=100" in page_of(client)


@pytest.mark.parametrize("query", ["?at=x", "?at=1:2:3", "?at=%00", "?at=%ff", "?at=" + "a" * 3000, "?last=1e9"])
def test_an_invalid_cursor_gives_the_first_page(client: Client, people: list[User], query: str) -> None:
    assert client.get(BOARD + query, headers=JSON).json()["most"][0]["name"] == "reader 29"
    with sql_only():
        assert client.get(BOARD + query, headers=JSON).json()["most"][0]["name"] == "reader 29"


def test_sql_gives_the_same_page(client: Client, people: list[User]) -> None:
    warm_page, warm_json = page_of(client), client.get(BOARD, headers=JSON).content
    with sql_only(), record() as seen:
        assert page_of(client) == warm_page
        assert client.get(BOARD, headers=JSON).content == warm_json
    assert seen.round_trips == 0
    assert len(seen.sql) < 20


def test_names_are_escaped(client: Client) -> None:
    user = User.objects.create(username="<b>bold</b>")
    client.force_login(user)
    warm_users()
    for path in (BOARD, "/"):
        assert "<b>bold" not in client.get(path).content.decode()


def test_ranks_are_ordinal_numbers() -> None:
    shown = [ordinal(number) for number in (1, 2, 3, 4, 11, 12, 13, 21, 102, 1113)]
    assert shown == ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "1,113th"]
    with translation.override("zh-hans"):
        assert ordinal(22) == "第 22 名"


def test_an_empty_board_shows_a_message(client: Client) -> None:
    warm_users()
    assert "No logins yet" in page_of(client)
    assert "Recent logins" not in page_of(client)


def test_only_safe_methods_are_allowed(client: Client) -> None:
    for method in (client.post, client.put, client.delete):
        assert method(BOARD).status_code == 405


def location(client: Client, path: str) -> Any:
    return client.get(path).headers["Location"]


def test_staff_log_in_on_the_sites_own_page(client: Client) -> None:
    wanted = location(client, "/admin/accounts/user/")
    assert wanted == "/admin/login/?next=/admin/accounts/user/"
    door = location(client, wanted)
    assert door == "/accounts/login/?next=/admin/accounts/user/"
    carol = User.objects.create_superuser("carol", password="a quiet bookshop")
    back = client.post(door, {"username": "carol", "password": "a quiet bookshop"})
    assert back.headers["Location"] == "/admin/accounts/user/"
    assert client.get("/admin/accounts/user/").status_code == 200
    assert carol.login_stats.login_times == 1
    assert location(client, "/admin/login/?next=/admin/accounts/user/") == "/admin/accounts/user/"
    assert location(client, "/admin/login/") == "/admin/"


def test_readers_get_403_in_the_admin_without_a_redirect_loop(client: Client) -> None:
    client.force_login(User.objects.create_user("alice"))
    response = client.get("/admin/", follow=True)
    assert response.status_code == 403
    assert len(response.redirect_chain) == 1
    assert "log in with a different account" in response.content.decode()


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:x"])
def test_next_never_redirects_to_another_site(client: Client, elsewhere: str) -> None:
    assert location(client, f"/admin/login/?next={elsewhere}") == "/accounts/login/?next=/admin/"
    client.force_login(User.objects.create_superuser("carol"))
    assert location(client, f"/admin/login/?next={elsewhere}") == "/admin/"


def test_the_admins_own_login_form_is_disabled(client: Client) -> None:
    User.objects.create_superuser("carol", password="a quiet bookshop")
    response = client.post("/admin/login/", {"username": "carol", "password": "a quiet bookshop"})
    assert response.status_code == 405
