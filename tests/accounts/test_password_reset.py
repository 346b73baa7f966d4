"""Password resets do not reveal accounts, and a link is valid once, for a limited time."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from celery import current_app
from django.core import mail
from django.db import connection
from django.test import Client
from django.utils import timezone
from django.utils.http import urlsafe_base64_decode
from pytest_django.fixtures import Settings
from redis import Redis

from accounts import services
from accounts import tasks as accounts_tasks
from accounts.lockout.models import FailedLogins
from accounts.mail import outgoing
from accounts.mail import tasks as mail_tasks
from accounts.models import EmailChange, Session, User
from accounts.passwords import services as passwords
from accounts.sessions.services import end_all_sessions
from accounts.views import entry
from mirror.redis.recorder import Recording, record
from tests.support.accounts.mail import deliver_emails, find_link, take_hinted_tasks
from tests.support.servers import RedisServer, wait_until
from tests.support.tasks import load_tasks

PATH, DONE = "/accounts/password_reset/", "/accounts/password_reset/done/"
PASSWORD, NEW = "a quiet bookshop", "an even quieter one"
ADDRESS = "alice@example.org"

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _no_waiting(settings: Settings) -> None:
    settings.LETTER_DELAY_SECONDS = 0.0


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice", email=ADDRESS, password=PASSWORD)


def link_for(email: str = ADDRESS) -> str:
    """Request a reset for an address and return the link of the single email."""
    assert Client().post(PATH, {"email": email}).headers["Location"] == DONE
    (letter,) = deliver_emails()
    return find_link(letter)


def use(client: Client, link: str, password: str = NEW) -> Any:
    """Follow a link and set a password."""
    form = client.get(link)
    if form.status_code == 302:
        link = form.headers["Location"]
    return client.post(link, {"new_password1": password, "new_password2": password})


def logged_in(user: User) -> Client:
    client = Client()
    assert client.login(username=user.username, password=PASSWORD)
    return client


def is_good(link: str) -> bool:
    return Client().get(link).status_code == 302


def test_the_link_in_the_email_sets_a_new_password(client: Client, alice: User) -> None:
    response = client.post(PATH, {"email": ADDRESS})
    assert response.headers["Location"] == DONE
    assert "we have sent a link to it" in client.get(DONE).content.decode()
    (letter,) = deliver_emails()
    assert letter.to == [ADDRESS]
    assert letter.subject == "Reset your Diptych password"
    response = use(client, find_link(letter))
    assert response.headers["Location"] == "/accounts/reset/done/"
    assert 'href="/accounts/login/"' in client.get(response.headers["Location"]).content.decode()
    alice.refresh_from_db()
    assert alice.check_password(NEW)
    (notice,) = deliver_emails()
    assert notice.subject == "Your Diptych password was changed"


def seen_while_asking(email: str) -> tuple[Any, Recording]:
    client = Client()
    client.get(PATH)
    with record() as seen:
        response = client.post(PATH, {"email": email})
    return response, seen


def test_the_request_is_the_same_for_known_and_unknown_addresses(alice: User) -> None:
    User.objects.create_user("bob", email="bob@example.org", password=PASSWORD, is_active=False)
    User.objects.create_user("carol", email="carol@example.org")
    seen_while_asking("warm@example.org")
    answers = []
    for email in (ADDRESS, "bob@example.org", "carol@example.org", "nobody@example.org"):
        response, seen = seen_while_asking(email)
        names = [command.name for command in seen.commands]
        statements = [sql for sql, _seconds in seen.sql]
        answers.append((response.status_code, response.headers["Location"], response.content, names, statements))
    assert answers == [answers[0]] * 4
    assert not [sql for sql in answers[0][-1] if "accounts_user" in sql]
    assert [name for name, _ in take_hinted_tasks()] == ["accounts.tasks.send_reset_links"] * 5


def test_only_active_users_with_a_password_get_an_email(alice: User) -> None:
    User.objects.create_user("bob", email="bob@example.org", password=PASSWORD, is_active=False)
    User.objects.create_user("carol", email="carol@example.org")  # without a usable password
    for email in ("bob@example.org", "carol@example.org", "nobody@example.org"):
        Client().post(PATH, {"email": email})
    assert deliver_emails() == []


def test_the_email_goes_to_the_stored_spelling_of_the_address(alice: User) -> None:
    Client().post(PATH, {"email": "ALICE@Example.ORG"})
    (letter,) = deliver_emails()
    assert letter.to == [ADDRESS]


def test_a_similar_address_is_a_different_address(alice: User) -> None:
    User.objects.create_user("mike", email="mike@example.org", password=PASSWORD)
    assert [user.username for user in passwords.find_users("mike@example.org")] == ["mike"]
    assert passwords.find_users("m\u0131ke@example.org") == []


def test_many_accounts_with_one_address_do_not_displace_the_owner() -> None:
    for n in range(25):
        User.objects.create_user(f"squatter {n}", email=ADDRESS, password=PASSWORD)
    alice = User.objects.create_user("alice", email=ADDRESS, password=PASSWORD)
    services.record_login(alice)
    Client().post(PATH, {"email": ADDRESS})
    (letter,) = deliver_emails()
    ((html, _kind),) = letter.alternatives
    found = re.findall(r"^(.+):\n(http://\S+)$", str(letter.body), re.MULTILINE)
    assert [name for name, _link in found] == ["alice", *(f"squatter {n}" for n in range(25))]
    assert f"Hello {ADDRESS}," in str(letter.body)
    for name, link in found:
        assert f'<a href="{link}">{name}</a>' in str(html)
    assert use(Client(), urlsplit(found[0][1]).path).status_code == 302
    alice.refresh_from_db()
    assert alice.check_password(NEW)


def test_a_link_goes_only_to_the_spelling_of_its_account(alice: User) -> None:
    for n, spelling in enumerate(("Alice@example.org", "ALICE@example.org", "aLICE@example.org")):
        User.objects.create_user(f"other {n}", email=spelling, password=PASSWORD)
    Client().post(PATH, {"email": ADDRESS})
    sent = deliver_emails()
    assert len(sent) == passwords.MAX_SPELLINGS
    assert sent[0].to == [ADDRESS]
    names = {letter.to[0]: re.findall(r"Hello (.+),", str(letter.body)) for letter in sent}
    assert all(names[user.email] == [user.username] for user in User.objects.filter(email__in=names))


def test_registrations_with_one_address_are_limited() -> None:
    given = {"password1": PASSWORD, "password2": PASSWORD}
    statuses = [
        Client().post("/accounts/register/", given | {"username": f"reader {n}", "email": ADDRESS.upper()}).status_code
        for n in range(entry.MAX_EMAIL_REGISTRATIONS + 1)
    ]
    assert statuses == [302] * entry.MAX_EMAIL_REGISTRATIONS + [429]


def test_addresses_are_found_by_an_index(alice: User) -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            User.objects.bulk_create(User(username=f"reader {n}") for n in range(500))
            cursor.execute("ANALYZE accounts_user")
            cursor.execute("SET enable_seqscan = off")
        with record() as seen:
            passwords.find_users(ADDRESS)
        ((sql, _),) = seen.sql
        explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
        cursor.execute(
            f"{explain} {sql}", [ADDRESS] if sql.count("%s") == 1 else [ADDRESS, *[True] * (sql.count("%s") - 1)]
        )
        assert "accounts_email" in str(cursor.fetchall())


@pytest.mark.parametrize("typed", ["", "alice", "alice@example.org\nBcc: eve@example.org", "a@b\r\nTo: c@d.org"])
def test_invalid_addresses_are_refused(client: Client, alice: User, typed: str) -> None:
    response = client.post(PATH, {"email": typed})
    assert response.status_code == 200
    assert 'id="id_email-errors"' in response.content.decode()
    assert take_hinted_tasks() == []


def test_a_forged_host_never_appears_in_the_link(client: Client, alice: User, settings: Settings) -> None:
    assert client.post(PATH, {"email": ADDRESS}, headers={"host": "evil.example"}).status_code == 400
    assert take_hinted_tasks() == []
    client.post(PATH, {"email": ADDRESS}, headers={"x-forwarded-host": "evil.example"})
    (letter,) = deliver_emails()
    assert "evil" not in str(letter.body)
    assert f"{settings.SITE_URL}/accounts/reset/" in str(letter.body)


def test_a_link_is_valid_once(alice: User) -> None:
    link = link_for()
    use(Client(), link)
    assert not is_good(link)
    page = Client().get(link).content.decode()
    assert "This link is no longer valid" in page
    assert 'href="/accounts/password_reset/"' in page


def test_a_form_opened_before_the_link_was_used_is_refused(alice: User) -> None:
    link, slow = link_for(), Client()
    form = slow.get(link).headers["Location"]
    use(Client(), link)
    response = slow.post(form, {"new_password1": "a third password", "new_password2": "a third password"})
    assert "This link is no longer valid" in response.content.decode()
    alice.refresh_from_db()
    assert alice.check_password(NEW)


def test_a_token_sets_only_one_password(alice: User) -> None:
    token = link_for().split("/")[-2]
    again = User.objects.get(pk=alice.pk)
    assert passwords.reset_password(alice, NEW, token)
    assert not passwords.reset_password(again, "a third password", token)
    assert User.objects.get(pk=alice.pk).check_password(NEW)


@pytest.mark.parametrize("what", ["password", "email", "secret", "login"])
def test_changes_of_the_account_invalidate_the_link(alice: User, what: str) -> None:
    link = link_for()
    assert is_good(link)
    match what:
        case "password":
            alice.set_password(PASSWORD)  # the same password with a new hash
            alice.save()
        case "email":
            User.objects.filter(pk=alice.pk).update(email="elsewhere@example.org")
        case "secret":
            end_all_sessions(alice)
        case "login":
            services.record_login(alice)
    assert not is_good(link)


def test_a_link_expires_after_three_hours(alice: User, settings: Settings) -> None:
    assert settings.PASSWORD_RESET_TIMEOUT == 3 * 3600
    link = link_for()
    settings.PASSWORD_RESET_TIMEOUT = -1  # every link is older
    assert not is_good(link)


def test_a_link_of_one_user_is_invalid_for_another(alice: User) -> None:
    bob = User.objects.create_user("bob", email="bob@example.org", password=PASSWORD)
    one, other = link_for().split("/"), link_for("bob@example.org").split("/")
    one[3] = other[3]
    assert urlsafe_base64_decode(one[3]).decode() == str(bob.pk)
    assert not is_good("/".join(one))


@pytest.mark.parametrize("link", ["MQ/abc-def", "%00/x-y", "OTk5OTk5/abc-0123", "MQ/set-password", "x" * 300 + "/a-b"])
def test_forged_links_show_an_explanation(client: Client, alice: User, link: str) -> None:
    response = client.get(f"/accounts/reset/{link}/")
    assert response.status_code == 200
    assert "This link is no longer valid" in response.content.decode()


def test_following_a_link_changes_nothing(alice: User) -> None:
    link = link_for()
    for _ in range(2):  # mail scanners follow links repeatedly
        Client().get(link, follow=True)
    assert is_good(link)


def test_a_weak_password_is_refused_and_the_link_stays_valid(client: Client, alice: User) -> None:
    link = link_for()
    response = use(client, link, "12345678")
    assert 'id="id_new_password2-errors"' in response.content.decode()
    assert use(client, link).headers["Location"] == "/accounts/reset/done/"


def test_a_reset_ends_every_session_including_its_own(alice: User) -> None:
    here, elsewhere = logged_in(alice), logged_in(alice)
    bob = User.objects.create_user("bob", password=PASSWORD)
    other = logged_in(bob)
    response = use(here, link_for())
    assert response.headers["Location"] == "/accounts/reset/done/"
    assert not Session.objects.filter(user=alice).exists()
    for client in (here, elsewhere):
        assert client.get("/accounts/").status_code == 302
    assert other.get("/accounts/").status_code == 200


def test_another_user_in_the_same_browser_stays_logged_in(alice: User) -> None:
    bob = User.objects.create_user("bob", password=PASSWORD)
    client = logged_in(bob)
    assert use(client, link_for()).status_code == 302
    assert "bob" in client.get("/accounts/").content.decode()


def test_a_reset_cancels_a_change_of_address(alice: User) -> None:
    EmailChange.objects.create(user=alice, email="eve@example.org")
    use(Client(), link_for())
    assert not EmailChange.objects.exists()


def test_a_reset_ends_the_lock_out(client: Client, alice: User, settings: Settings) -> None:
    def try_to_log_in(password: str) -> bool:
        client.post("/accounts/login/", {"username": "alice", "password": password})
        return "_auth_user_id" in client.session

    for _ in range(settings.LOGIN_FAILURE_LIMIT + 1):
        assert not try_to_log_in("wrong")
    assert not try_to_log_in(PASSWORD)
    use(Client(), link_for())
    assert try_to_log_in(NEW)


def test_emails_are_limited_alike_for_known_and_unknown_addresses(alice: User) -> None:
    answers = []
    for email in (ADDRESS, "nobody@example.org"):
        for n in range(5):
            spelled = email.upper() if n % 2 else email
            assert Client().post(PATH, {"email": spelled}, REMOTE_ADDR=f"192.0.2.{n}").status_code == 302
        # Pretend that at most a second has passed, even on a slow machine.
        FailedLogins.objects.update(ends_at=timezone.now() + timedelta(seconds=3599))
        response = Client().post(PATH, {"email": email}, REMOTE_ADDR="192.0.2.99")
        answers.append((response.status_code, int(response.headers["Retry-After"]) // 100))
        assert "Try again in 60 minutes." in response.content.decode()
        assert f'value="{email}"' in response.content.decode()
    assert answers == [(429, answers[0][1])] * 2


def test_a_loss_of_redis_keeps_the_limit(alice: User, redis: Redis) -> None:
    for _ in range(5):
        Client().post(PATH, {"email": ADDRESS})
    redis.flushall()
    assert Client().post(PATH, {"email": ADDRESS}).status_code == 429


def test_counters_store_no_names_and_expire(alice: User) -> None:
    Client().post(PATH, {"email": ADDRESS})
    assert {(row.kind, row.name, row.address) for row in FailedLogins.objects.all()} == {("form", "", "")}
    FailedLogins.objects.update(ends_at=timezone.now() - timedelta(seconds=1))
    Client().post(PATH, {"email": "nobody@example.org"}, REMOTE_ADDR="192.0.2.1")
    assert FailedLogins.objects.filter(ends_at__lt=timezone.now()).count() == 0


def test_requests_of_one_visitor_are_limited(alice: User) -> None:
    for n in range(20):
        assert Client().post(PATH, {"email": f"reader{n}@example.org"}).status_code == 302
    assert Client().post(PATH, {"email": "reader20@example.org"}).status_code == 429
    assert Client().post(PATH, {"email": "reader20@example.org"}, REMOTE_ADDR="192.0.2.1").status_code == 302


def test_without_a_broker_the_email_is_sent_after_the_response(alice: User, redis_server: RedisServer) -> None:
    redis_server.kill()  # broker, mirrors and cache are away
    assert Client().post(PATH, {"email": ADDRESS}).status_code == 302
    wait_until(lambda: len(mail.outbox) == 1, "the letter")
    assert is_good(find_link(mail.outbox[0]))  # type: ignore[arg-type]


def test_a_letter_without_a_broker_does_not_load_known_tasks_again(
    alice: User, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_tasks()
    loaded: list[bool] = []
    # Loading runs all system checks.
    monkeypatch.setattr(current_app.loader, "import_default_modules", lambda: loaded.append(True))
    redis_server.kill()
    Client().post(PATH, {"email": ADDRESS})
    wait_until(lambda: len(mail.outbox) == 1, "the letter")
    assert loaded == []


def test_without_a_broker_the_request_looks_up_no_user(
    alice: User, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitted: list[Any] = []

    def submit(*args: Any) -> None:
        submitted.append(args)
        outgoing._free_places.release()

    monkeypatch.setattr(outgoing._executor, "submit", submit)
    redis_server.kill()
    for email in (ADDRESS, "nobody@example.org"):
        response, seen = seen_while_asking(email)
        assert response.status_code == 302
        assert not [sql for sql, _seconds in seen.sql if "accounts_user" in sql]
    requests = [passwords.read_request(*args[2]) for args in submitted]
    assert requests == [(ADDRESS, "en"), ("nobody@example.org", "en")]


def test_tasks_waiting_without_a_broker_are_bounded(
    alice: User, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(outgoing._free_places, "acquire", lambda blocking: False)
    redis_server.kill()
    assert Client().post(PATH, {"email": ADDRESS}).status_code == 302
    assert "one is lost" in caplog.text


def test_emails_use_the_language_of_the_request(alice: User) -> None:
    Client().post(PATH, {"email": ADDRESS}, headers={"accept-language": "zh-hans"})
    ((_, (signed,)),) = take_hinted_tasks()
    assert passwords.read_request(signed) == (ADDRESS, "zh-hans")


def test_names_are_escaped_in_the_html_email(alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(username="<b>x</b>")
    Client().post(PATH, {"email": ADDRESS})
    (letter,) = deliver_emails()
    assert "Hello <b>x</b>," in str(letter.body)
    assert "&lt;b&gt;x" in str(letter.alternatives[0][0])


def test_workers_know_the_tasks() -> None:
    current_app.loader.import_default_modules()
    assert {"accounts.tasks.send_letter", "accounts.tasks.send_reset_links"} <= set(current_app.tasks)
    assert accounts_tasks.send_email is mail_tasks.send_email  # workers load the tasks by this import
