"""Editing own posts: the mark, the former versions, mentions and hashtags."""

from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from mirror.verify import runs
from social.models import Block, Post, PostVersion
from social.selectors import get_mentions_of, get_posts_tagged
from social.services.posts import create_post, edit_post, hide_post
from tests.support.social.timelines import ids_of, make_users, warm_up

JSON = {"Accept": "application/json"}
pytestmark = pytest.mark.django_db(transaction=True)


class Town:
    """alice has written a post; bob is another reader."""

    def __init__(self) -> None:
        self.alice, self.bob = make_users("alice", "bob")
        self.post = create_post(self.alice.pk, "For @bob: #emma")
        warm_up(self.alice, self.bob)

    def send(self, client: Client, text: str, **headers: str) -> Any:
        return client.post(f"/posts/{self.post.pk}/edit/", {"text": text}, headers=headers)


@pytest.fixture
def town(client: Client) -> Town:
    town = Town()
    client.force_login(town.alice)
    return town


def test_a_form_edits_a_post_and_marks_it(client: Client, town: Town) -> None:
    address = f"/posts/{town.post.pk}/"
    page = client.get(address).content.decode()
    assert f'href="{address}edit/"' in page
    assert f"{address}history/" not in page
    assert "\nFor @bob: #emma</textarea>" in client.get(f"{address}edit/").content.decode()
    response = town.send(client, "For all <b> readers")
    assert (response.status_code, response.headers["Location"]) == (302, address)
    page = client.get(address).content.decode()
    assert "For all &lt;b&gt; readers" in page
    assert f'<a class="post-edited" href="{address}history/">edited</a>' in page


def test_mentions_and_hashtags_are_those_of_the_new_text(town: Town) -> None:
    assert edit_post(town.post.pk, "For @alice: #persuasion", by=town.alice.pk)
    drain_all()
    for is_sql in (False, True):
        if is_sql:
            with sql_only():
                _check_lists(town)
        else:
            _check_lists(town)
    assert not runs.verify(["post", "mentions", "hashtag"])


def _check_lists(town: Town) -> None:
    pk = town.post.pk
    assert [ids_of(get_posts_tagged(name, None)) for name in ("emma", "persuasion")] == [[], [pk]]
    assert [ids_of(get_mentions_of(user.pk)) for user in (town.bob, town.alice)] == [[], [pk]]


def test_the_history_has_all_former_versions(client: Client, town: Town) -> None:
    for text in ("Second", "Second", "Third"):
        assert town.send(client, text, **JSON).json()["text"] == text
    found = Client().get(f"/posts/{town.post.pk}/history/", headers=JSON).json()
    assert found["post"]["text"] == "Third"
    assert found["post"]["edited"] >= found["post"]["time"]
    assert [version["text"] for version in found["versions"]] == ["Second", "For @bob: #emma"]
    page = Client().get(f"/posts/{town.post.pk}/history/").content.decode()
    assert page.index("Third") < page.index("Second") < page.index("For @bob")


def test_an_edit_changes_the_content_note(client: Client, town: Town) -> None:
    address = f"/posts/{town.post.pk}/"

    def send(**fields: str) -> int:
        return client.post(f"{address}edit/", {"text": Post.objects.get().text, **fields}, headers=JSON).status_code

    assert send(note="spoilers") == 200
    assert 'value="spoilers"' in client.get(f"{address}edit/").content.decode()
    page = Client().get(address).content.decode()
    assert '<span class="muted">Content note:</span> <bdi>spoilers</bdi></summary>' in page
    assert not PostVersion.objects.exists()
    # A request without the field keeps the note. The former text keeps its own when the post loses it.
    assert send(text="Second") == 200
    assert send(text="Third", note="") == 200
    assert Post.objects.get().note == ""
    found = Client().get(f"{address}history/", headers=JSON).json()["versions"]
    assert [(version["text"], version["note"]) for version in found] == [
        ("Second", "spoilers"),
        ("For @bob: #emma", "spoilers"),
    ]
    page = Client().get(f"{address}history/").content.decode()
    assert page.count('<span class="muted">Content note:</span> <bdi>spoilers</bdi></summary>') == 2
    assert send(note="x" * 101) == 400


@pytest.mark.parametrize("text", ["", " ", "x" * 501])
def test_a_refused_text_changes_nothing(client: Client, town: Town, text: str) -> None:
    response = town.send(client, text)
    assert response.status_code == 400
    assert 'role="alert"' in response.content.decode()
    assert town.send(client, text, **JSON).json()["error"]["field"] == "text"
    assert Post.objects.get().text == "For @bob: #emma"
    assert not PostVersion.objects.exists()


def test_an_edit_that_is_too_soon_keeps_the_typed_text(client: Client, town: Town, settings: Settings) -> None:
    settings.POST_RATES = ((1, 3600),)
    assert town.send(client, "One change").status_code == 302
    refused = town.send(client, "Another <change>")
    page = refused.content.decode()
    assert (refused.status_code, int(refused.headers["Retry-After"]) > 0) == (429, True)
    assert "That was too often." in page
    assert "\nAnother &lt;change&gt;</textarea>" in page
    assert town.send(client, "Another", **JSON).json().keys() == {"error"}
    assert Post.objects.get().text == "One change"


def test_only_the_author_edits(client: Client, town: Town) -> None:
    client.force_login(town.bob)
    assert town.send(client, "Mine").status_code == 404
    assert client.get(f"/posts/{town.post.pk}/edit/").status_code == 404
    assert not edit_post(town.post.pk, "Mine", by=town.bob.pk)
    assert "/accounts/login/" in town.send(Client(), "Mine").headers["Location"]
    assert Post.objects.get().text == "For @bob: #emma"


@pytest.mark.parametrize("how", ["hide", "block"])
def test_the_history_is_as_visible_as_the_post(client: Client, town: Town, how: str) -> None:
    edit_post(town.post.pk, "Second", by=town.alice.pk)
    drain_all()
    client.force_login(town.bob)
    address = f"/posts/{town.post.pk}/history/"
    assert client.get(address).status_code == 200
    if how == "hide":
        hide_post(town.post.pk)
    else:
        Block.objects.create(blocker=town.alice, blocked=town.bob)
    drain_all()
    for headers in ({}, JSON):
        assert client.get(address, headers=headers).status_code == 404
