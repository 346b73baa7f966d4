"""Pages about readers: content, visibility and cost."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from accounts.suspension import lift_due_suspensions, suspend_user
from accounts.users.renaming import change_name
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from social.relations.suggestions import suggest_readers
from social.services import people
from social.services.posts import create_post
from tests.support.site.html import find_policy_violations
from tests.support.warm_mirrors import rebuild, without_drains

JSON = {"Accept": "application/json"}

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cast() -> dict[str, User]:
    """Alice follows Bob and Carol, both follow Dora, and Carol follows Bob."""
    with without_drains():
        made = {
            name: User.objects.create(username=name, shows_logins=True)
            for name in ("Alice", "Bob", "Carol", "Dora", "Eve O'Neil-Ray")
        }
        for one, other in (("Alice", "Bob"), ("Alice", "Carol"), ("Bob", "Dora"), ("Carol", "Dora"), ("Carol", "Bob")):
            people.follow(made[one].pk, made[other].pk)
        create_post(made["Dora"].pk, "What a book!")
    rebuild()
    drain_all()
    return made


def log_in(client: Client, user: User) -> None:
    """Log in as ``user``, with a session in Redis."""
    client.force_login(user)
    client.get("/accounts/leaderboard/")
    drain_all()
    client.get("/accounts/leaderboard/")


def page_of(client: Client, path: str, **options: Any) -> str:
    return client.get(path, **options).content.decode()


def test_pages_about_readers_show_their_content(client: Client, cast: dict[str, User]) -> None:
    log_in(client, cast["Alice"])
    page = page_of(client, "/u/Dora/")
    assert "What a book!" in page
    assert "Followed by Bob, Carol" in " ".join(re.sub("<.*?>", "", page).split())
    assert 'action="/u/Dora/follow/"' in page
    assert find_policy_violations(page) == []
    found = client.get("/u/Dora/", headers=JSON).json()
    assert [each["text"] for each in found["results"]] == ["What a book!"]
    assert found["user"] == {
        "id": cast["Dora"].pk, "name": "Dora", "posts": 1, "followers": 2, "following": 0, "is_me": False,
        "is_following": False, "follows_me": False, "is_muted": False, "is_blocked": False, "is_private": False,
        "followed_by": {"count": 2, "is_more": False, "names": ["Bob", "Carol"]},
        "both_follow": {"count": 0, "is_more": False, "names": []},
        "avatar": "", "bio": "", "links": [], "favourites": [], "reading": [],
    }  # fmt: skip


def test_pages_of_a_suspended_reader_say_so_except_to_readers_that_they_blocked(
    client: Client, cast: dict[str, User]
) -> None:
    change_name(cast["Dora"].pk, "Dorothy")
    people.block(cast["Dora"].pk, cast["Eve O'Neil-Ray"].pk)
    suspend_user(cast["Dora"].pk, timezone.now() + timedelta(days=2), notice="/decisions/key/")
    drain_all()
    missing = page_of(client, "/u/Nobody/")
    for path in ("/u/Dorothy/", "/u/dorothy/followers/", "/u/Dorothy/shelves/", "/u/Dora/"):
        response = client.get(path)
        assert response.status_code == 404
        page = response.content.decode()
        assert "<h1>This account is suspended</h1>" in page
        assert "decisions" not in page
        assert client.get(path, headers=JSON).json() == {"error": {"message": "This account is suspended"}}
        with sql_only():
            assert page_of(client, path) == page
    log_in(client, cast["Eve O'Neil-Ray"])
    assert "<h1>Page not found</h1>" in page_of(client, "/u/Dorothy/")
    client.logout()
    # A reactivated account is deactivated for another reason.
    User.objects.filter(pk=cast["Dora"].pk).update(is_active=True)
    lift_due_suspensions()
    User.objects.filter(pk=cast["Dora"].pk).update(is_active=False)
    drain_all()
    assert page_of(client, "/u/Dorothy/") == missing


@pytest.mark.parametrize("path", ["/u/Dora/", "/u/Bob/", "/u/Bob/followers/", "/u/Carol/following/", "/people/"])
def test_sql_gives_the_same_page(client: Client, cast: dict[str, User], path: str) -> None:
    log_in(client, cast["Alice"])
    warm_json, warm_page = client.get(path, headers=JSON).content, page_of(client, path)
    with sql_only(), record() as seen:
        assert client.get(path, headers=JSON).content == warm_json
        assert _without_tokens(page_of(client, path)) == _without_tokens(warm_page)
    assert not [command for command in seen.commands if "uid:" in str(command.args)]


def _without_tokens(page: str) -> str:
    return "".join(part.partition('"')[2] for part in page.split('name="csrfmiddlewaretoken" value="'))


def test_pages_have_a_fixed_cost(client: Client, cast: dict[str, User]) -> None:
    client.get("/u/Dora/")
    with record() as seen:
        client.get("/u/Dora/")
    assert (seen.round_trips, seen.sql) == (1, [])
    log_in(client, cast["Alice"])
    client.get("/u/Dora/")
    with record() as seen:
        client.get("/u/Dora/")
    assert (seen.round_trips, seen.sql) == (1, [])  # the follows in common are computed by Redis


def test_a_list_takes_one_query(client: Client, cast: dict[str, User]) -> None:
    log_in(client, cast["Alice"])
    client.get("/u/Dora/followers/")
    with record() as seen:
        client.get("/u/Dora/followers/")
    assert (seen.round_trips, len(seen.sql)) == (1, 1)


def test_suggestions_take_three_round_trips(client: Client, cast: dict[str, User]) -> None:
    log_in(client, cast["Alice"])
    with record() as seen:
        found = suggest_readers(cast["Alice"].pk)
    assert (seen.round_trips, seen.sql) == (3, [])
    assert [(each.person.name, each.count) for each in found] == [("Dora", 2)]
    assert "Followed by 2 readers you follow" in page_of(client, "/people/")


@pytest.mark.parametrize("rest", ["", "followers/", "following/"])
def test_other_spellings_redirect_to_the_owners_spelling(client: Client, cast: dict[str, User], rest: str) -> None:
    own = "/u/Eve%20O%27Neil-Ray/"
    assert client.get(own + rest).status_code == 200
    for spelled in ("eve%20o%27neil-ray", "EVE%20O'NEIL-RAY", "%EF%BC%A5ve%20O%27Neil-Ray"):
        for headers in ({}, JSON):
            response = client.get(f"/u/{spelled}/{rest}?after=7", headers=headers)
            assert (response.status_code, response.headers["Location"]) == (302, f"{own}{rest}?after=7")


@pytest.mark.parametrize("name", ["nobody", "%00", "%0A", "..", "%20", "%ED%A0%80", "a" * 300, "Gone"])
def test_unknown_and_inactive_names_are_404(client: Client, cast: dict[str, User], name: str) -> None:
    User.objects.create(username="Gone", is_active=False)
    drain_all()
    for rest in ("", "followers/", "following/"):
        assert client.get(f"/u/{name}/{rest}").status_code == 404
        with sql_only():
            response = client.get(f"/u/{name}/{rest}", headers=JSON)
            assert (response.status_code, response.json()) == (404, {"error": {"message": "Page not found"}})


def test_names_link_to_their_pages_everywhere(client: Client, cast: dict[str, User]) -> None:
    eve = cast["Eve O'Neil-Ray"]
    client.force_login(eve)
    drain_all()
    link = '<a class="name" href="/u/Eve%20O%27Neil-Ray/"><bdi>Eve O&#x27;Neil-Ray</bdi></a>'
    assert link in page_of(client, "/accounts/leaderboard/")
    account = page_of(client, "/accounts/")
    assert '<a href="/u/Eve%20O%27Neil-Ray/">View profile</a>' in account
    assert 'href="/people/"' in account


def test_names_that_fit_no_address_have_no_link(client: Client) -> None:
    client.force_login(User.objects.create(username="<b>and/or</b>"))
    rebuild()
    for path in ("/accounts/leaderboard/", "/people/", "/accounts/"):
        assert "&lt;b&gt;and/or&lt;/b&gt;" in page_of(client, path)


def test_htmx_gets_only_the_next_posts(client: Client, cast: dict[str, User]) -> None:
    for number in range(30):
        create_post(cast["Dora"].pk, f"Number {number}.")
    drain_all()
    after = client.get("/u/Dora/", headers=JSON).json()["next"]
    assert after.startswith("/u/Dora/?after=")
    part = page_of(client, after, headers={"HX-Request": "true"})
    assert "<h1" not in part
    assert "What a book!" in part
    assert "<h1" in page_of(client, after)


def test_visitors_see_no_buttons_and_a_hint_to_log_in(client: Client, cast: dict[str, User]) -> None:
    page = page_of(client, "/u/Dora/")
    assert 'method="post" action="/u/' not in page
    assert 'href="/accounts/login/?next=%2Fu%2FDora%2F"' in page
    for path in ("/people/", "/people/muted/", "/people/blocked/"):
        response = client.get(path)
        assert (response.status_code, response.headers["Location"]) == (
            302,
            f"/accounts/login/?next={path}",
        )
        response = client.get(path, headers=JSON)
        assert (response.status_code, response.json()) == (401, {"error": {"message": "Log in first."}})


def test_muted_readers_show_posts_and_blocked_readers_none(client: Client, cast: dict[str, User]) -> None:
    alice, dora = cast["Alice"], cast["Dora"]
    log_in(client, alice)
    people.mute(alice.pk, dora.pk)
    drain_all()
    page = page_of(client, "/u/Dora/")
    assert "You have muted this reader" in page
    assert "What a book!" in page
    people.block(alice.pk, dora.pk)
    drain_all()
    for path in ("/u/Dora/", "/u/Dora/followers/", "/u/Dora/following/"):
        for blocked in (page_of(client, path), sql_page(client, path)):
            assert "You have blocked this reader" in blocked
            assert "What a book!" not in blocked
            assert "/u/Bob/" not in blocked  # a random token may contain "Bob"
        said = {"id": dora.pk, "name": "Dora", "is_blocked": True, "is_muted": True}
        assert client.get(path, headers=JSON).json() == {"user": said, "results": [], "next": None}


def sql_page(client: Client, path: str) -> str:
    with sql_only():
        return page_of(client, path)


def test_other_methods_are_refused(client: Client, cast: dict[str, User]) -> None:
    for path in ("/u/Dora/", "/u/Dora/followers/", "/people/", "/people/blocked/"):
        assert client.post(path).status_code == 405
