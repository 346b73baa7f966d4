"""The download of personal data: a file with all data about the user, and none about other users."""

import json
from typing import Any

import pytest
from django.apps import apps
from django.db.models import ForeignKey
from django.test import Client

from accounts.models import Session, User
from accounts.personal.registry import all_parts
from loginlog import services
from shop.models import View
from social.models import Block, Follow, Mute
from social.services.posts import create_post
from tests.support.accounts.sessions import PASSWORD, log_in, read_digest
from tests.support.loginlog.tools import ago, mirror_logins
from tests.support.shop.make import make_order, make_product

PATH = "/accounts/download/"
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice", email="alice@example.org", password=PASSWORD)


@pytest.fixture
def here(alice: User) -> Client:
    return log_in(alice)


def download(client: Client) -> Any:
    response = client.post(PATH, {"password": PASSWORD})
    assert response.headers["Content-Type"] == "application/json"
    assert 'filename="diptych-data.json"' in response.headers["Content-Disposition"]
    assert response.headers["Cache-Control"] == "private, no-cache"
    return json.loads(response.getvalue())


def test_every_foreign_key_to_a_user_belongs_to_one_part() -> None:
    owners = [owner for part in all_parts() for owner in part.owners]
    found = [
        f"{model._meta.label}.{field.name}"
        for model in apps.get_models(include_auto_created=True)
        for field in model._meta.concrete_fields
        if isinstance(field, ForeignKey) and field.related_model is User
    ]
    assert sorted(owners) == sorted(found)


def test_each_part_is_downloaded_or_gives_a_reason(here: Client) -> None:
    assert all((part.read is None) == bool(part.reason) for part in all_parts())
    assert set(download(here)) == {part.name for part in all_parts() if part.read}


def test_the_file_has_the_data_of_all_applications(here: Client, alice: User) -> None:
    mirror_logins()
    other, product = User.objects.create_user("other"), make_product("A book")
    create_post(alice.pk, "Good “morning”\n")
    Follow.objects.create(follower=alice, followee=other)
    Block.objects.create(blocker=alice, blocked=other)
    View.objects.create(visitor=read_digest(here), user=alice, book=product.book)
    order = make_order(alice, product, name="Alice", address="1 Feather Lane")
    services.mark_login(alice, ago(3))
    found = download(here)
    assert found["account"][0]["email"] == "alice@example.org"
    assert found["logins"][0]["login_times"] == 1
    assert [row["text"] for row in found["posts"]] == ["Good “morning”"]
    assert found["following"][0]["followee__username"] == "other"
    assert found["blocks"][0]["blocked__username"] == "other"
    assert found["views"][0]["book__title"] == "A book"
    assert found["orders"][0]["address"] == "1 Feather Lane"
    assert found["order_lines"][0] | {"order_id": order.pk, "title": "A book"} == found["order_lines"][0]
    assert {"day": ago(3).isoformat()} in found["login_days"]


def test_the_file_has_no_secrets_and_no_data_of_other_users(here: Client, alice: User) -> None:
    other = User.objects.create_user("other", email="other@example.org")
    Block.objects.create(blocker=other, blocked=alice)
    Mute.objects.create(user=other, muted=alice)
    create_post(other.pk, "Nobody else reads this")
    found = download(here)
    text = json.dumps(found)
    user = User.objects.get(pk=alice.pk)
    for secret in (read_digest(here), user.password, user.session_secret, "other", "Nobody else"):
        assert secret not in text
    assert len(found["sessions"]) == Session.objects.filter(user=alice).count() == 1


def test_the_password_is_required_and_attempts_are_limited(here: Client) -> None:
    assert here.get(PATH).status_code == 200
    for _ in range(10):
        assert here.post(PATH, {"password": "a wrong password"}).status_code == 200
    assert here.post(PATH, {"password": PASSWORD}).status_code == 429
    assert Client().get(PATH).headers["Location"].startswith("/accounts/login/")


def test_the_account_page_links_to_download_and_deletion(here: Client) -> None:
    page = here.get("/accounts/").content.decode()
    assert f'href="{PATH}"' in page
    assert 'href="/accounts/delete/"' in page
