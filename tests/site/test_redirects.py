"""Redirects never leave the site, whatever value ``next`` has."""

import pytest
from django.test import Client

from accounts.models import User
from social.services.people import block
from social.services.posts import create_post

pytestmark = pytest.mark.django_db(transaction=True)

ODD = [
    "x",
    "home",
    "social:home",
    "admin:index",
    ":",
    "..",
    "x\n2026-01-01 INFO forged: line",
    "http://[",
    "/" + 3000 * "x",
]
ADDRESSES = [
    "/posts/",
    "/posts/<id>/delete/",
    *(f"/u/bob/{verb}/" for verb in ("follow", "unfollow", "block", "unblock", "mute", "unmute")),
]


@pytest.fixture
def alice(client: Client) -> User:
    alice, bob = (User.objects.create_user(name) for name in ("alice", "bob"))
    client.force_login(alice)
    block(alice.pk, bob.pk)
    return alice


@pytest.mark.parametrize("address", ADDRESSES)
def test_invalid_next_leads_to_the_default(client: Client, alice: User, address: str) -> None:
    if "<id>" in address:
        address = address.replace("<id>", str(create_post(alice.pk, "hello").pk))
    for following in ODD:
        response = client.post(address, {"text": "hello", "next": following})
        assert response.status_code in (302, 409)
        if response.status_code == 302:
            assert response.headers["Location"].startswith(("/home/", "/u/bob/", "/people/"))


def test_invalid_next_after_theme_leads_to_the_front_page(client: Client) -> None:
    for following in ODD:
        response = client.post("/look/theme/", {"theme": "dark", "next": following})
        assert (response.status_code, response.headers["Location"]) == (302, "/")


@pytest.mark.parametrize("following", ODD)
def test_invalid_next_after_login_leads_to_the_front_page(client: Client, following: str) -> None:
    User.objects.create_user("alice", password="a quiet bookshop")
    given = {"username": "alice", "password": "a quiet bookshop", "next": following}
    response = client.post("/accounts/login/", given)
    assert (response.status_code, response.headers["Location"]) == (302, "/")


@pytest.mark.parametrize("following", ["/books/?q=ruby", "http://testserver/books/"])
def test_next_on_this_site_is_followed(client: Client, following: str) -> None:
    response = client.post("/look/theme/", {"theme": "dark", "next": following})
    assert response.headers["Location"] == following
