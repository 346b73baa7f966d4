"""Deleting and hiding posts: permissions and confirmation."""

import pytest
from django.test import Client

from accounts.models import User
from social.models import Mention, Post
from social.services.posts import create_post, delete_post, hide_post, unhide_post
from tests.support.social.timelines import make_users

JSON = "application/json"
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alice(client: Client) -> User:
    """Create a logged-in reader."""
    user = make_users("alice")[0]
    client.force_login(user)
    return user


def test_only_authors_delete_a_post(client: Client) -> None:
    alice, bob, staff = make_users("alice", "bob", "staff")
    User.objects.filter(pk=staff.pk).update(is_staff=True, is_superuser=True)
    made = create_post(alice.pk, "hello @bob #tag")
    assert not delete_post(made.pk, by=bob.pk)
    assert not delete_post(made.pk, by=staff.pk)
    assert delete_post(made.pk, by=alice.pk)
    assert not delete_post(made.pk, by=alice.pk)
    assert not Mention.objects.exists()


def test_hiding_is_idempotent_and_reversible() -> None:
    made = create_post(make_users("alice")[0].pk, "hello")
    assert [hide_post(made.pk), hide_post(made.pk), unhide_post(made.pk), unhide_post(made.pk)] == [True, False] * 2


def test_deleting_needs_a_confirmation(client: Client, alice: User) -> None:
    made = create_post(alice.pk, "hello")
    html = client.get(f"/posts/{made.pk}/delete/").content.decode()
    assert "hello" in html
    assert '<form class="doubt" method="post">' in html
    assert Post.objects.exists()
    for _ in range(2):  # a double click
        assert client.post(f"/posts/{made.pk}/delete/").headers["Location"] == "/home/"
    assert not Post.objects.exists()


def test_posts_of_others_cannot_be_deleted(client: Client, alice: User) -> None:
    made = create_post(make_users("bob")[0].pk, "mine")
    for method in (client.get, client.post):
        assert method(f"/posts/{made.pk}/delete/").status_code == 404
    assert client.post(f"/posts/{made.pk}/delete/", headers={"Accept": JSON}).status_code == 404
    client.logout()
    assert "/accounts/login/" in client.post(f"/posts/{made.pk}/delete/").headers["Location"]
    assert Post.objects.exists()


def test_deleting_in_json(client: Client, alice: User) -> None:
    made = create_post(alice.pk, "hello")
    response = client.post(f"/posts/{made.pk}/delete/", headers={"Accept": JSON})
    assert (response.status_code, response.json()) == (200, {"id": made.pk, "is_deleted": True})


def test_a_repeated_key_does_not_show_a_hidden_post(client: Client, alice: User) -> None:
    hide_post(create_post(alice.pk, "hello", key="once").pk)
    for headers in ({"Accept": JSON}, {"HX-Request": "true"}):
        response = client.post("/posts/", {"text": "hello", "key": "once"}, headers=headers)
        assert response.status_code == 404
    assert Post.objects.count() == 1
