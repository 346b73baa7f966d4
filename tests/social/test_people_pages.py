"""Pages about people: what they say, to whom, and what they cost."""

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from mirror.rebuild import rebuild
from mirror.recorder import record
from mirror.relay import drain_all
from mirror.sql_only import sql_only
from social.services import people
from social.services.posts import post
from tests.site.html import what_the_policy_forbids

JSON = {"Accept": "application/json"}

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cast() -> dict[str, User]:
    """Alice follows Bob and Carol, who follow Dora; Carol follows Bob."""
    made = {name: User.objects.create(username=name) for name in ("Alice", "Bob", "Carol", "Dora", "Eve O'Neil-Ray")}
    for one, other in (("Alice", "Bob"), ("Alice", "Carol"), ("Bob", "Dora"), ("Carol", "Dora"), ("Carol", "Bob")):
        people.follow(made[one].pk, made[other].pk)
    post(made["Dora"].pk, "What a book!")
    rebuild()
    drain_all()
    return made


def log_in(client: Client, user: User) -> None:
    """As ``user``, in a session that Redis knows."""
    client.force_login(user)
    client.get("/accounts/leaderboard/")
    drain_all()
    client.get("/accounts/leaderboard/")


def page_of(client: Client, path: str, **options: Any) -> str:
    return client.get(path, **options).content.decode()


def test_it_works(client: Client, cast: dict[str, User]) -> None:
    log_in(client, cast["Alice"])
    page = page_of(client, "/u/Dora/")
    assert "What a book!" in page
    assert "2 people you follow follow Dora:" in page
    assert 'action="/u/Dora/follow/"' in page
    assert what_the_policy_forbids(page) == []
    found = client.get("/u/Dora/", headers=JSON).json()
    assert [each["text"] for each in found["results"]] == ["What a book!"]
    assert found["user"] == {
        "id": cast["Dora"].pk, "name": "Dora", "posts": 1, "followers": 2, "following": 0, "is_me": False,
        "is_following": False, "follows_me": False, "is_muted": False, "is_blocked": False,
        "followed_by": {"count": 2, "is_more": False, "names": ["Bob", "Carol"]},
        "both_follow": {"count": 0, "is_more": False, "names": []},
    }  # fmt: skip


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
