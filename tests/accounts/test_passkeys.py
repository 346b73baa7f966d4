"""Passkeys as a second factor, with a simulated key. ``tests/browser/test_passkeys.py`` tests them in a browser."""

import json
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from accounts.second_factor.models import Passkey, RecoveryCode
from tests.accounts.security_key import SecurityKey
from tests.support.accounts.lockout import PASSWORD, is_logged_in, log_in
from tests.support.servers import RedisServer

ADD, FACTOR, CONFIRM = "/accounts/factors/passkey/", "/accounts/login/factor/", "/accounts/confirm/"
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice", password=PASSWORD)


@pytest.fixture
def key(alice: User) -> SecurityKey:
    """Return a security key with a passkey of Alice."""
    client, key = Client(), SecurityKey()
    client.force_login(alice)
    assert len(add(client, key).context["codes"]) == 10
    return key


def options(client: Client, path: str) -> str:
    return str(client.get(path).context["passkey_options"])


def add(client: Client, key: SecurityKey, name: str = "Blue key") -> Any:
    return client.post(ADD, {"name": name, "credential": key.create(options(client, ADD))})


def asked(name: str = "alice") -> Client:
    """Return a browser after a right password, with the second factor pending."""
    client = Client()
    log_in(client, name)
    return client


def test_a_passkey_is_added_and_used(alice: User, key: SecurityKey) -> None:
    client = asked()
    response = client.post(FACTOR, {"credential": key.get(options(client, FACTOR))})
    assert response.status_code == 302
    assert is_logged_in(client)
    row = Passkey.objects.get()
    assert (row.name, row.sign_count) == ("Blue key", 1)
    assert row.used_at is not None


def test_a_reload_of_the_recovery_codes_does_not_say_that_the_passkey_failed(alice: User) -> None:
    client, key = Client(), SecurityKey()
    client.force_login(alice)
    form = {"name": "Blue key", "credential": key.create(options(client, ADD))}
    assert client.post(ADD, form).context["codes"]
    assert client.post(ADD, form)["Location"] == "/accounts/factors/"
    assert Passkey.objects.count() == 1
    # A key of another user is no such form.
    other = Client()
    other.force_login(User.objects.create_user("bob", password=PASSWORD))
    assert "No passkey was created." in other.post(ADD, form).content.decode()


@pytest.mark.parametrize("path", [FACTOR, CONFIRM])
def test_a_refused_passkey_is_not_called_a_code(alice: User, key: SecurityKey, path: str) -> None:
    client = asked()
    if path == CONFIRM:
        client.force_login(alice)
    credential = key.get(options(client, path))
    client.get(path)  # in another tab, which asks for the answer to another challenge
    page = client.post(path, {"credential": credential}).content.decode()
    assert "This passkey was not accepted." in page.partition('data-passkey="get"')[2].partition("</form>")[0]
    assert "This code is wrong" not in page


def test_wrong_codes_leave_attempts_with_a_passkey(alice: User, key: SecurityKey) -> None:
    client = asked()
    assert [client.post(FACTOR, {"code": "000000"}).status_code for _ in range(6)] == [200] * 5 + [429]
    assert client.post(FACTOR, {"credential": " ", "code": "000000"}).status_code == 429
    assert client.post(FACTOR, {"credential": key.get(options(client, FACTOR))}).status_code == 302
    assert is_logged_in(client)


def test_a_passkey_is_renamed(alice: User, key: SecurityKey) -> None:
    client, other = Client(), Client()
    client.force_login(alice)
    other.force_login(User.objects.create_user("bob", password=PASSWORD))
    row = Passkey.objects.get()
    address = f"{ADD}?passkey={row.pk}"
    assert f'href="{address}"' in client.get("/accounts/factors/").content.decode()
    assert 'value="Blue key"' in client.get(address).content.decode()
    assert client.post(address, {"name": "Blue key of the office"})["Location"] == "/accounts/factors/"
    assert "Blue key of the office" in client.get("/accounts/factors/").content.decode()
    assert client.post(address, {"name": ""}).status_code == 200
    assert [reader.post(address, {"name": "Mine"}).status_code for reader in (other, Client())] == [404, 302]
    assert client.get(f"{ADD}?passkey=x").status_code == 404
    assert Passkey.objects.get().name == "Blue key of the office"


def test_a_signature_is_valid_once(key: SecurityKey) -> None:
    client = asked()
    credential = key.get(options(client, FACTOR))
    other = asked()
    options(other, FACTOR)
    assert other.post(FACTOR, {"credential": credential}).status_code == 200  # another challenge
    client.post(FACTOR, {"credential": credential})
    client.post("/accounts/logout/")
    log_in(client, "alice")
    assert client.post(FACTOR, {"credential": credential}).status_code == 200  # without a challenge
    assert not is_logged_in(client)


def test_the_challenge_is_valid_once_for_keys_without_a_counter(alice: User, key: SecurityKey) -> None:
    client = Client()
    client.force_login(alice)
    key.count = -1  # the key sends 0 then, like keys without a counter
    credential = key.get(options(client, CONFIRM))
    assert [client.post(CONFIRM, {"credential": credential}).status_code for _ in range(2)] == [302, 200]


def test_a_copy_of_a_key_is_refused_by_its_counter(key: SecurityKey) -> None:
    client = asked()
    assert client.post(FACTOR, {"credential": key.get(options(client, FACTOR))}).status_code == 302
    key.count = 0
    again = asked()
    assert again.post(FACTOR, {"credential": key.get(options(again, FACTOR))}).status_code == 200


def test_a_signature_for_another_site_is_refused(key: SecurityKey) -> None:
    key.origin = "https://evil.example"
    client = asked()
    assert client.post(FACTOR, {"credential": key.get(options(client, FACTOR))}).status_code == 200
    assert not is_logged_in(client)


def test_the_passkey_of_another_user_is_refused(alice: User, key: SecurityKey) -> None:
    eve = User.objects.create_user("eve", password=PASSWORD)
    client, own = Client(), SecurityKey()
    client.force_login(eve)
    add(client, own)
    client = asked("eve")
    assert client.post(FACTOR, {"credential": key.get(options(client, FACTOR))}).status_code == 200
    assert not is_logged_in(client)
    again = Client()
    again.force_login(eve)
    assert 'id="id_name-errors"' in add(again, key).content.decode()  # the key belongs to Alice


def test_a_known_key_is_excluded_from_registration(alice: User, key: SecurityKey) -> None:
    client = Client()
    client.force_login(alice)
    excluded = json.loads(options(client, ADD))["excludeCredentials"]
    assert [each["id"] for each in excluded] == [Passkey.objects.get().credential_id]


def test_a_second_passkey_brings_no_new_recovery_codes(alice: User, key: SecurityKey) -> None:
    client = Client()
    client.force_login(alice)
    assert add(client, SecurityKey(), "Red key").headers["Location"] == "/accounts/factors/"
    assert RecoveryCode.objects.count() == 10
    red = Passkey.objects.get(name="Red key")
    client.post("/accounts/factors/remove/", {"passkey": red.pk})
    assert [row.name for row in Passkey.objects.all()] == ["Blue key"]


def test_a_passkey_is_a_recent_proof(alice: User, key: SecurityKey) -> None:
    client = Client()
    client.force_login(alice)
    credential = key.get(options(client, CONFIRM))
    assert client.post(CONFIRM, {"credential": credential, "next": "/home/"}).headers["Location"] == "/home/"
    assert client.session["_second_factor"] is True


@pytest.mark.parametrize(
    "credential",
    ["x", "[" * 19_000, "{}", "[]", "null", "1", '{"id": 1}',
     '{"id": "YQ", "rawId": "YQ", "type": "public-key", "response": {}}',
     '{"id": "YQ", "rawId": "YQ", "type": "public-key", "response": {"clientDataJSON": "YQ"}}',
     '{"id": "YQ", "rawId": "YQ", "type": "public-key", "response": {"authenticatorData": "YQ", "signature": "YQ"}}'],
)  # fmt: skip
def test_malformed_credentials_are_refused(alice: User, key: SecurityKey, credential: str) -> None:
    client = asked()
    options(client, FACTOR)
    assert client.post(FACTOR, {"credential": credential}).status_code == 200
    owner = Client()
    owner.force_login(alice)
    options(owner, ADD)
    assert owner.post(ADD, {"name": "A", "credential": credential}).status_code == 200
    real = json.loads(key.get(options(client, FACTOR)))
    real["response"] |= {"authenticatorData": "YQ"}
    assert client.post(FACTOR, {"credential": json.dumps(real)}).status_code == 200


def test_passkeys_are_not_offered_at_an_ip_address(alice: User, key: SecurityKey) -> None:
    client = Client(headers={"host": "127.0.0.1:8000"})
    client.force_login(alice)
    assert "open the site by its name" in client.get(ADD).content.decode()
    assert options(client, CONFIRM) == ""


def test_the_permissions_policy_allows_passkeys(client: Client) -> None:
    assert "publickey-credentials-get=(self)" in client.get("/").headers["Permissions-Policy"]


def test_passkeys_work_without_redis(alice: User, key: SecurityKey, redis_server: RedisServer) -> None:
    redis_server.kill()
    client = asked()
    assert client.post(FACTOR, {"credential": key.get(options(client, FACTOR))}).status_code == 302
    assert is_logged_in(client)
