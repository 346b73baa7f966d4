"""Users and their sessions in the admin."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.test import Client

from accounts import admin as accounts_admin
from accounts.admin_tools.forms import UserCreationForm
from accounts.audit.models import AuditEvent
from accounts.models import AccountDeletion, LoginStats, Session, User
from accounts.selectors import find_user_id
from accounts.sessions import last_seen
from accounts.sessions.admin import LimitedActionsAdmin, SessionAdmin
from mirror.admin import counting
from mirror.redis.clients import breaker
from mirror.redis.recorder import record
from tests.support.accounts.people import make_people, warm_users
from tests.support.servers import RedisServer

USERS, SESSIONS = "/admin/accounts/user/", "/admin/accounts/session/"
PASSWORD = "a quiet bookshop"

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("carol"))
    return client


def clerk(*permissions: str) -> Client:
    """Return a logged-in browser of a staff user with only these permissions."""
    user = User.objects.create_user("dora", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def is_in(client: Client) -> bool:
    return client.get("/accounts/").status_code == 200


def names(page: Any) -> list[str]:
    return [user.username for user in page.context["cl"].result_list]


def act(client: Client, path: str, action: str, *rows: Any) -> Any:
    return client.post(path, {"action": action, "_selected_action": [row.pk for row in rows]})


def fields(name: str, **more: str) -> dict[str, str]:
    asked = {"username": name, "user_type": "client", "usable_password": "true"}
    return asked | {"password1": PASSWORD, "password2": PASSWORD} | more


def stats_form(user: User) -> dict[str, str]:
    """Return the unchanged form data of the page of a user."""
    joined = user.date_joined
    return {
        "username": user.username,
        "user_type": user.user_type,
        "email": user.email,
        "first_name": "",
        "last_name": "",
        "is_active": "on",
        "date_joined_0": f"{joined:%Y-%m-%d}",
        "date_joined_1": f"{joined:%H:%M:%S}",
        "login_stats-TOTAL_FORMS": "0",
        "login_stats-INITIAL_FORMS": "0",
    }


# --- the list -------------------------------------------------------------------------------------------------


def test_the_list_shows_and_filters_types(staff: Client) -> None:
    User.objects.create_user("alice", user_type=User.Type.OFFICE)
    User.objects.create_user("robert")
    page = staff.get(USERS, {"user_type__exact": "office"}).content.decode()
    assert "alice" in page
    assert "robert" not in page  # a short name such as "bob" could be part of a token


def test_the_list_is_searched_by_name_and_address(staff: Client) -> None:
    User.objects.create_user("alice", email="reader@example.org")
    assert names(staff.get(USERS, {"q": "ALI"})) == ["alice"]
    assert names(staff.get(USERS, {"q": "reader@"})) == ["alice"]


def test_the_list_shows_logins_and_is_sorted_by_name_only(staff: Client) -> None:
    """Any other order would read and sort all users."""
    make_people([3, 0, 12])
    carols = LoginStats.objects.get(user__username="carol").login_times
    assert carols == 1
    for order, wanted in (("-4", 1), ("1", 1), ("-1", -1)):
        page = staff.get(USERS, {"o": order})
        assert names(page) == ["carol", "reader 1", "reader 2", "reader 3"][::wanted]
        found = [accounts_admin.UserAdmin.logins(None, user) for user in page.context["cl"].result_list]
        assert found == [1, 3, 0, 12][::wanted]


def test_the_list_shows_the_number_of_sessions(staff: Client) -> None:
    alice = User.objects.create_user("alice")
    for _ in range(3):
        logged_in(alice)
    page = staff.get(USERS).content.decode()
    assert f'href="{SESSIONS}?user__id__exact={alice.pk}">3</a>' in page


def test_the_list_costs_the_same_for_any_number_of_users(staff: Client) -> None:
    staff.get(USERS)
    with record() as few:
        staff.get(USERS)
    for user in make_people(range(50)):
        Session.objects.create(pk=f"{user.pk:064}", user=user, expire_date=datetime(2100, 1, 1, tzinfo=UTC))
    with record() as many:
        staff.get(USERS)
    assert len(many.sql) == len(few.sql)


@pytest.mark.only_on("sqlite")  # PostgreSQL estimates the number of rows once it has statistics
def test_lists_count_a_limited_number_of_rows(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MAX_COUNTED_ROWS", 7)
    make_people(range(20))
    assert staff.get(USERS).context["cl"].result_count == 8
    with record() as seen:
        staff.get(USERS)
        staff.get(SESSIONS)
    counts = [sql for sql, _ in seen.sql if "COUNT(*)" in sql]
    assert len(counts) == 2
    assert all("LIMIT 8" in sql for sql in counts)


# --- one user -------------------------------------------------------------------------------------------------


def test_a_user_can_be_added_with_a_type(staff: Client) -> None:
    response = staff.post(f"{USERS}add/", fields("dave", user_type="office"))
    assert response.status_code == 302, response.context["adminform"].errors
    dave = User.objects.get(username="dave")
    assert dave.user_type == User.Type.OFFICE
    assert dave.check_password(PASSWORD)


@pytest.mark.parametrize("name", ["Straße", "STRASSE", "ｓｔｒａｓｓｅ"])
def test_a_taken_name_in_another_spelling_is_a_field_error(staff: Client, name: str) -> None:
    User.objects.create_user("strasse")
    response = staff.post(f"{USERS}add/", fields(name))
    assert response.context["adminform"].errors["username"] == ["That name is already taken."]
    assert User.objects.count() == 2


def test_a_rename_frees_the_old_name(staff: Client) -> None:
    alice = User.objects.create_user("alice")
    warm_users()
    response = staff.post(f"{USERS}{alice.pk}/change/", stats_form(alice) | {"username": "Alice Müller"})
    assert response.status_code == 302, response.context["adminform"].errors
    with record() as seen:
        assert find_user_id("ALICE MÜLLER") == alice.pk
        assert find_user_id("alice") is None
    assert seen.sql == []


def test_a_name_can_be_respelled_but_not_taken_from_another_user(staff: Client) -> None:
    alice = User.objects.create_user("alice")
    assert staff.post(f"{USERS}{alice.pk}/change/", stats_form(alice) | {"username": "ALICE"}).status_code == 302
    response = staff.post(f"{USERS}{alice.pk}/change/", stats_form(alice) | {"username": "Carol"})
    assert "username" in response.context["adminform"].errors
    alice.refresh_from_db()
    assert alice.username == "ALICE"


def test_a_name_taken_concurrently_gives_a_message(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    User.objects.create_user("alice")
    monkeypatch.setattr(UserCreationForm, "clean_username", lambda form: form.cleaned_data["username"])
    response = staff.post(f"{USERS}add/", fields("ALICE"), follow=True)
    assert response.status_code == 200
    assert "That name has just been taken." in response.content.decode()


def test_the_page_of_a_user_shows_logins_read_only(staff: Client) -> None:
    (user,) = make_people([1234])
    page = staff.get(f"{USERS}{user.pk}/change/").content.decode()
    assert "1234" in page
    assert 'name="login_stats-0-login_times"' not in page
    assert staff.get(f"{USERS}{user.pk}/password/").status_code == 200


def test_forged_login_counts_are_ignored(staff: Client) -> None:
    (user,) = make_people([5])
    forged = {
        "login_stats-TOTAL_FORMS": "1",
        "login_stats-INITIAL_FORMS": "1",
        "login_stats-0-user": str(user.pk),
        "login_stats-0-login_times": "99",
    }
    staff.post(f"{USERS}{user.pk}/change/", stats_form(user) | forged)
    assert LoginStats.objects.get(user=user).login_times == 5


def test_a_new_password_ends_the_sessions_of_the_user(staff: Client) -> None:
    alice = User.objects.create_user("alice", password="a former password")
    there = logged_in(alice)
    asked = {"password1": PASSWORD, "password2": PASSWORD, "usable_password": "true", "set-password": "1"}
    assert staff.post(f"{USERS}{alice.pk}/password/", asked).status_code == 302
    assert not is_in(there)
    assert not Session.objects.filter(user=alice).exists()
    assert is_in(staff)


@pytest.mark.parametrize(
    "path",
    [
        "/admin/",
        USERS,
        f"{USERS}add/",
        SESSIONS,
        "/admin/auth/group/",
        "/admin/auth/group/add/",
        "/admin/password_change/",
    ],
)
def test_pages_of_the_admin_exist(staff: Client, path: str) -> None:
    assert staff.get(path).status_code == 200


# --- ending sessions ------------------------------------------------------------------------------------------


def test_the_action_ends_all_sessions_of_selected_users(staff: Client) -> None:
    alice, bob = User.objects.create_user("alice"), User.objects.create_user("bob")
    ended, stays = [logged_in(alice), logged_in(alice)], logged_in(bob)
    secret = alice.session_secret
    assert act(staff, USERS, "end_sessions", alice).status_code == 302
    assert "2 sessions were ended." in staff.get(USERS).content.decode()
    assert [is_in(client) for client in (*ended, stays)] == [False, False, True]
    assert User.objects.get(pk=alice.pk).session_secret != secret
    history = staff.get(f"{USERS}{alice.pk}/history/").content.decode()
    assert "Ended all sessions." in history


def test_the_action_can_end_the_sessions_of_its_sender(staff: Client) -> None:
    assert act(staff, USERS, "end_sessions", User.objects.get(username="carol")).status_code == 302
    assert not is_in(staff)


def test_the_action_refuses_too_many_users(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LimitedActionsAdmin, "max_selected", 2)
    people = make_people([1, 1, 1])
    there = logged_in(people[0])
    act(staff, USERS, "end_sessions", *people)
    assert "choose at most 2" in staff.get(USERS).content.decode()
    assert is_in(there)


def test_sessions_show_their_device_but_not_the_whole_digest(staff: Client) -> None:
    alice = User.objects.create_user("alice")
    logged_in(alice)
    Session.objects.filter(user=alice).update(device="Firefox on Linux")
    session = Session.objects.get(user=alice)
    page = staff.get(SESSIONS, {"user__id__exact": alice.pk})
    text = page.content.decode()
    assert [row.pk for row in page.context["cl"].result_list] == [session.pk]
    assert "Firefox on Linux" in text
    assert f">{session.pk[:16]}<" in text
    assert f">{session.pk}<" not in text
    one = staff.get(f"{SESSIONS}{session.pk}/change/").content.decode()
    assert "Firefox on Linux" in one
    assert session.session_data not in one


def test_last_seen_comes_from_redis_or_else_from_sql(staff: Client, redis_server: RedisServer) -> None:
    alice = User.objects.create_user("alice")
    is_in(logged_in(alice))
    session = Session.objects.get(user=alice)
    assert last_seen.read_last_seen([session.pk])
    (row,) = staff.get(SESSIONS, {"user__id__exact": alice.pk}).context["cl"].result_list
    shown = SessionAdmin.seen_at(None, row)
    assert shown in staff.get(f"{SESSIONS}{session.pk}/change/").content.decode()
    redis_server.kill()
    (row,) = staff.get(SESSIONS, {"user__id__exact": alice.pk}).context["cl"].result_list
    assert SessionAdmin.seen_at(None, row) is None


def test_the_list_of_sessions_costs_the_same_for_any_number_of_rows(staff: Client) -> None:
    def cost() -> tuple[int, int]:
        breaker.reset()
        with record() as seen:
            staff.get(SESSIONS)
        return len(seen.sql), seen.round_trips

    cost()
    few = cost()
    for user in make_people([0] * 30):
        Session.objects.create(pk=f"{user.pk:064}", user=user, expire_date=datetime(2100, 1, 1, tzinfo=UTC))
    assert cost() == few


@pytest.mark.parametrize("way", ["action", "button"])
def test_deleting_a_session_ends_it(staff: Client, way: str) -> None:
    alice = User.objects.create_user("alice")
    one, other = logged_in(alice), logged_in(alice)
    digest = one.session.digest  # type: ignore[attr-defined]
    if way == "action":
        act(staff, SESSIONS, "end_selected", Session.objects.get(pk=digest))
    else:
        confirm = staff.get(f"{SESSIONS}{digest}/delete/").content.decode()
        assert digest not in confirm.replace(f"/{digest}/", "")
        staff.post(f"{SESSIONS}{digest}/delete/", {"post": "yes"})
    assert (is_in(one), is_in(other)) == (False, True)
    assert last_seen.read_last_seen([digest]) == {}


# --- permissions -----------------------------------------------------------------------------------------------


def test_staff_with_view_permissions_can_change_nothing() -> None:
    client = clerk("view_user", "view_session")
    alice = User.objects.create_user("alice")
    there = logged_in(alice)
    assert "end_sessions" not in client.get(USERS).content.decode()
    act(client, USERS, "end_sessions", alice)
    assert "end_selected" not in client.get(SESSIONS).content.decode()
    act(client, SESSIONS, "end_selected", *Session.objects.filter(user=alice))
    assert client.post(f"{SESSIONS}{there.session.digest}/delete/", {"post": "yes"}).status_code == 403  # type: ignore[attr-defined]
    assert is_in(there)


def test_staff_without_permissions_see_nothing() -> None:
    client = clerk()
    assert client.get(USERS).status_code == 403
    assert client.get(SESSIONS).status_code == 403


def test_logins_are_hidden_without_their_permission() -> None:
    (user,) = make_people([87654321])
    client = clerk("view_user", "change_user")
    assert "87654321" not in client.get(f"{USERS}{user.pk}/change/").content.decode()


def test_staff_cannot_grant_themselves_permissions() -> None:
    client, dora = clerk("view_user", "change_user"), User.objects.get(username="dora")
    group = Group.objects.create(name="everything")
    forged = {"is_staff": "on", "is_superuser": "on", "groups": [group.pk], "user_permissions": ["1"]}
    response = client.post(f"{USERS}{dora.pk}/change/", stats_form(dora) | forged)
    assert response.status_code == 403
    alice = User.objects.create_user("alice")
    assert client.post(f"{USERS}{alice.pk}/change/", stats_form(alice) | forged).status_code == 302
    alice.refresh_from_db()
    assert (alice.is_staff, alice.is_superuser, alice.groups.count()) == (False, False, 0)
    dora.refresh_from_db()
    assert (dora.is_staff, dora.is_superuser, dora.groups.count()) == (True, False, 0)
    assert dora.user_permissions.count() == 2


@pytest.mark.parametrize("flag", ["is_superuser", "is_staff"])
@pytest.mark.parametrize("is_active", [True, False])
def test_only_superusers_change_accounts_of_staff(flag: str, is_active: bool) -> None:
    client = clerk("view_user", "change_user", "delete_user")
    target = User.objects.create_user("root", "root@example.org", PASSWORD, **{flag: True})
    there = logged_in(target)
    User.objects.filter(pk=target.pk).update(is_active=is_active)
    page = f"{USERS}{target.pk}/"
    assert client.post(f"{page}password/", {"password1": PASSWORD, "password2": PASSWORD}).status_code == 403
    assert client.post(f"{page}change/", stats_form(target) | {"email": "eve@example.org"}).status_code == 403
    assert client.post(f"{page}delete/", {"post": "yes"}).status_code == 403
    for action in ("delete_selected", "delete_accounts"):
        given = {"action": action, "_selected_action": [target.pk], "post": "yes", "confirmed": "yes"}
        client.post(USERS, given)
    act(client, USERS, "end_sessions", target)
    after = User.objects.get(pk=target.pk)
    assert (after.password, after.email, after.session_secret) == (
        target.password,
        "root@example.org",
        target.session_secret,
    )
    assert is_in(there) == is_active
    assert not AccountDeletion.objects.exists()


def test_staff_with_the_permission_change_readers() -> None:
    client, alice = clerk("view_user", "change_user"), User.objects.create_user("alice")
    given = {"usable_password": "true", "password1": PASSWORD, "password2": PASSWORD}
    assert client.post(f"{USERS}{alice.pk}/password/", given).status_code == 302
    alice.refresh_from_db()
    assert alice.check_password(PASSWORD)


def test_only_superusers_change_groups(staff: Client) -> None:
    client, group = (
        clerk("view_group", "add_group", "change_group", "delete_group"),
        Group.objects.create(name="support"),
    )
    page, forged = f"/admin/auth/group/{group.pk}/", {"name": "support", "permissions": ["1"]}
    assert client.get("/admin/auth/group/").status_code == 200
    for path in ("/admin/auth/group/add/", f"{page}change/", f"{page}delete/"):
        assert client.post(path, forged).status_code == 403
    assert group.permissions.count() == 0
    assert staff.post(f"{page}change/", forged).status_code == 302
    assert group.permissions.count() == 1


def test_support_ends_sessions_of_readers_but_not_of_staff(staff: Client) -> None:
    support, reader = clerk("view_session", "delete_session"), logged_in(User.objects.create_user("alice"))
    act(support, SESSIONS, "end_selected", *Session.objects.all())
    assert is_in(staff)
    assert is_in(support)
    assert not is_in(reader)
    of_carol = Session.objects.get(user__username="carol")
    assert support.post(f"{SESSIONS}{of_carol.pk}/delete/", {"post": "yes"}).status_code == 403
    assert is_in(staff)


def test_the_log_has_old_and_new_values_but_no_personal_ones(staff: Client) -> None:
    alice = User.objects.create_user("alice", email="alice@example.org")
    form = stats_form(alice) | {"user_type": "office", "first_name": "Secret", "email": "new@example.org"}
    assert staff.post(f"{USERS}{alice.pk}/change/", form).status_code == 302
    details = AuditEvent.objects.get(kind="staff").details
    assert "Type: client → office" in details
    assert "First name" in details
    assert "Secret" not in details
    assert "example.org" not in details
    group = Group.objects.create(name="helpers")
    assert staff.post(f"/admin/auth/group/{group.pk}/change/", {"name": "helpers", "permissions": [
        Permission.objects.get(codename="view_book").pk
    ]}).status_code == 302  # fmt: skip
    assert "Permissions: – → catalogue | book | Can view book" in AuditEvent.objects.filter(kind="staff").last().details
