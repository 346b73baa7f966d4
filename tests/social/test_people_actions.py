"""The buttons to follow, block and mute, and to undo it: permissions, and answers in HTML, JSON and to htmx."""

from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.models import User
from social.models import Block, Follow, Mute
from social.services import people
from tests.support.warm_mirrors import rebuild

JSON, HTMX = {"Accept": "application/json"}, {"HX-Request": "true"}
VERBS = ("follow", "unfollow", "block", "unblock", "mute", "unmute")

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alice() -> User:
    return User.objects.create(username="Alice")


@pytest.fixture
def bob() -> User:
    made = User.objects.create(username="Bob O'Neil")
    rebuild()
    return made


BOB = "/u/Bob%20O%27Neil/"


def test_each_action_changes_its_relation(client: Client, alice: User, bob: User) -> None:
    client.force_login(alice)
    response = client.post(f"{BOB}follow/", follow=True)
    assert response.redirect_chain == [(BOB, 302)]
    page = response.content.decode()
    assert "You now follow Bob O&#39;Neil." in page
    assert f'action="{BOB}unfollow/"' in page
    assert Follow.objects.filter(follower=alice, followee=bob).exists()


@pytest.mark.parametrize(
    ("verb", "flag", "is_so"),
    [
        ("follow", "is_following", True),
        ("unfollow", "is_following", False),
        ("block", "is_blocked", True),
        ("unblock", "is_blocked", False),
        ("mute", "is_muted", True),
        ("unmute", "is_muted", False),
    ],
)
def test_json_has_the_new_state_and_whether_it_changed(
    client: Client, alice: User, bob: User, verb: str, flag: str, is_so: bool
) -> None:
    client.force_login(alice)
    said = {"id": bob.pk, "name": "Bob O'Neil", flag: is_so}
    for is_changed in (is_so, False):
        response = client.post(f"/u/bob%20O%27NEIL/{verb}/", headers=JSON)
        assert (response.status_code, response.json()) == (200, {"user": said, "is_changed": is_changed})
    if is_so:
        response = client.post(f"{BOB}un{verb}/", headers=JSON)
        assert response.json() == {"user": {**said, flag: False}, "is_changed": True}


@pytest.mark.parametrize("verb", VERBS)
def test_visitors_must_log_in_and_their_action_is_kept(client: Client, alice: User, bob: User, verb: str) -> None:
    response = client.post(f"{BOB}{verb}/")
    log_in = "/accounts/login/?next=/accounts/resume/"
    assert response.status_code == 302
    assert response.headers["Location"].startswith(log_in)
    response = client.post(f"{BOB}{verb}/", headers=HTMX)
    assert response.status_code == 200
    assert response.headers["HX-Redirect"].startswith(log_in)
    response = client.post(f"{BOB}{verb}/", headers=JSON)
    assert (response.status_code, response.json()) == (401, {"error": {"message": "Log in first."}})
    assert (Follow.objects.count(), Block.objects.count(), Mute.objects.count()) == (0, 0, 0)


@pytest.mark.parametrize("verb", VERBS)
def test_forms_of_other_sites_are_refused(alice: User, bob: User, verb: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    people.follow(alice.pk, bob.pk)
    assert client.post(f"{BOB}{verb}/").status_code == 403
    assert (Follow.objects.count(), Block.objects.count(), Mute.objects.count()) == (1, 0, 0)


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "block"])
def test_get_requests_change_nothing(client: Client, alice: User, bob: User, verb: str) -> None:
    client.force_login(alice)
    assert client.get(f"{BOB}{verb}/").status_code == 405


def test_htmx_gets_the_new_button(client: Client, alice: User, bob: User) -> None:
    client.force_login(alice)
    part = client.post(f"{BOB}follow/", {"next": "/people/"}, headers=HTMX).content.decode()
    assert part.startswith("<form")
    assert f'hx-post="{BOB}unfollow/"' in part
    assert 'name="next" value="/people/"' in part
    assert f'hx-post="{BOB}follow/"' in client.post(f"{BOB}unfollow/", headers=HTMX).content.decode()


@pytest.mark.parametrize(
    ("wanted", "goes_to"),
    [("/people/?after=7", "/people/?after=7"), ("https://evil.example/", BOB), ("//evil.example", BOB), ("", BOB)],
)
def test_forms_redirect_only_within_the_site(client: Client, alice: User, bob: User, wanted: str, goes_to: str) -> None:
    client.force_login(alice)
    assert client.post(f"{BOB}follow/", {"next": wanted}).headers["Location"] == goes_to


def test_a_page_explains_a_block_first(client: Client, alice: User, bob: User) -> None:
    response = client.get(f"{BOB}block/")
    assert response.headers["Location"] == "/accounts/login/?next=/u/Bob%2520O%27Neil/block/"
    client.force_login(alice)
    page = client.get(f"{BOB}block/").content.decode()
    assert "Block Bob O&#39;Neil?" in page
    assert not Block.objects.exists()
    response = client.post(f"{BOB}block/", follow=True)
    assert response.redirect_chain == [("/people/blocked/", 302)]
    assert f'action="{BOB}unblock/"' in response.content.decode()
    assert client.get("/u/Alice/block/").status_code == 404


@pytest.mark.parametrize("headers", [{}, JSON, HTMX])
def test_refusals_are_explained(
    client: Client, alice: User, bob: User, headers: dict[str, str], settings: Settings
) -> None:
    client.force_login(alice)
    assert_said(client, client.post("/u/alice/follow/", headers=headers), 409, "You cannot do this to yourself.")
    people.block(alice.pk, bob.pk)
    said = "You have blocked this reader. Unblock them first."
    assert_said(client, client.post(f"{BOB}follow/", headers=headers), 409, said)
    people.unblock(alice.pk, bob.pk)
    settings.FOLLOW_LIMIT = 0
    said = "You follow 0 people, which is the maximum. Unfollow someone first."
    assert_said(client, client.post(f"{BOB}follow/", headers=headers), 409, said)


def assert_said(client: Client, response: Any, status: int, said: str) -> None:
    """Assert that the message is in the JSON, on the page, or on the page to which htmx is redirected."""
    assert response.status_code == status
    if "HX-Redirect" in response.headers:
        assert said in client.get(response.headers["HX-Redirect"]).content.decode()
    elif response.headers["Content-Type"] == "application/json":
        assert response.json() == {"error": {"message": said}}
    else:
        assert said in response.content.decode()


@pytest.mark.parametrize("headers", [{}, JSON, HTMX])
@pytest.mark.parametrize("verb", ["follow", "block", "mute"])
def test_actions_have_a_rate_limit_and_undoing_has_none(
    client: Client, alice: User, bob: User, settings: Settings, headers: dict[str, str], verb: str
) -> None:
    settings.FOLLOW_RATES = ((2, 300), (5, 86_400))
    client.force_login(alice)
    for _ in range(2):
        assert client.post(f"{BOB}{verb}/", headers=JSON).status_code == 200
    response = client.post(f"{BOB}{verb}/", {"next": "/people/"}, headers=headers)
    wait = int(response.headers["Retry-After"])  # the rest of the five minutes, of which the test uses some
    assert 60 < wait <= 300
    assert_said(client, response, 429, f"That was too often. Try again in {-(-wait // 60)} minutes.")
    for _ in range(5):
        assert client.post(f"{BOB}un{verb}/", headers=JSON).status_code == 200
    other = Client()
    other.force_login(bob)
    assert other.post(f"/u/Alice/{verb}/", headers=JSON).status_code == 200


def test_actions_have_a_daily_limit(client: Client, alice: User, bob: User, settings: Settings) -> None:
    settings.FOLLOW_RATES = ((100, 300), (3, 86_400))
    client.force_login(alice)
    answers = [client.post(f"{BOB}follow/", headers=JSON) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert 80_000 <= int(answers[3].headers["Retry-After"]) <= 86_400


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("headers", [{}, JSON])
def test_unknown_names_are_404(client: Client, alice: User, verb: str, headers: dict[str, str]) -> None:
    client.force_login(alice)
    rebuild()
    for name in ("nobody", "%00", "a" * 300):
        assert client.post(f"/u/{name}/{verb}/", headers=headers).status_code == 404


@pytest.mark.parametrize("verb", ["follow", "unfollow", "mute", "unmute", "unblock", "accept", "decline", "remove"])
def test_blocked_readers_get_the_answer_for_unknown_names(client: Client, alice: User, bob: User, verb: str) -> None:
    people.block(bob.pk, alice.pk)
    client.force_login(alice)
    for headers in ({}, JSON):
        theirs, nobodys = (client.post(f"{path}{verb}/", headers=headers) for path in (BOB, "/u/nobody/"))
        assert (theirs.status_code, theirs.content) == (nobodys.status_code, nobodys.content)
        assert theirs.status_code == 404
    assert client.get(f"{BOB}block/").status_code == 404


def test_blocked_readers_can_block_and_unblock(client: Client, alice: User, bob: User) -> None:
    people.mute(alice.pk, bob.pk)
    people.block(bob.pk, alice.pk)
    client.force_login(alice)
    assert client.post(f"{BOB}block/").headers["Location"] == "/people/blocked/"
    assert "Bob O&#39;Neil" in client.get("/people/blocked/").content.decode()
    people.unblock(bob.pk, alice.pk)
    assert "You have blocked this reader" in client.get(BOB).content.decode()
    assert client.post(f"{BOB}unblock/", headers=JSON).json()["is_changed"] is True
    assert client.post(f"{BOB}unmute/", headers=JSON).json()["is_changed"] is True


def test_actions_on_inactive_readers_can_be_undone(client: Client, alice: User, bob: User) -> None:
    people.follow(alice.pk, bob.pk)
    User.objects.filter(pk=bob.pk).update(is_active=False)
    client.force_login(alice)
    assert client.post(f"{BOB}unfollow/", headers=JSON).json()["is_changed"] is True
    assert client.post(f"{BOB}follow/", headers=JSON).status_code == 404
