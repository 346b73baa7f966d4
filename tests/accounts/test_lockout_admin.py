"""Lock-outs in the admin, and the action that ends them."""

import pytest
from django.test import Client

from accounts.lockout.models import FailedLogins
from accounts.models import User
from mirror.redis.recorder import record
from tests.support.accounts.lockout import PASSWORD, fail_logins, is_logged_in, log_in

PATH = "/admin/accounts/failedlogins/"

pytestmark = [pytest.mark.django_db, pytest.mark.on_sqlite]


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("carol"))
    User.objects.create_user("alice", password=PASSWORD)
    return client


def test_the_list_filters_lock_outs(staff: Client) -> None:
    fail_logins("alice", 5)
    fail_logins("robert", 1)
    everybody = staff.get(PATH).content.decode()
    assert "alice" in everybody
    assert "robert" in everybody
    locked = staff.get(PATH, {"locked": "yes"}).content.decode()
    assert "alice" in locked
    assert "robert" not in locked  # a short name such as "bob" could be part of a token


def test_staff_can_end_a_lock_out(staff: Client) -> None:
    fail_logins("alice", 5)
    row = FailedLogins.objects.get(kind="pair")
    page = staff.post(PATH, {"action": "unlock", "_selected_action": [row.pk]}, follow=True).content.decode()
    assert "1 counter was reset." in page
    browser = Client()
    log_in(browser, "alice")
    assert is_logged_in(browser)


def test_rows_cannot_be_added_or_deleted(staff: Client) -> None:
    fail_logins("alice", 1)
    row = FailedLogins.objects.get(kind="pair")
    assert staff.get(PATH + "add/").status_code == 403
    assert staff.post(f"{PATH}{row.pk}/delete/", {"post": "yes"}).status_code == 403
    staff.post(PATH, {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"})
    assert FailedLogins.objects.filter(pk=row.pk).exists()


def test_the_list_costs_the_same_for_any_number_of_rows(staff: Client) -> None:
    fail_logins("alice", 1)
    staff.get(PATH)
    with record() as few:
        staff.get(PATH)
    for n in range(10):
        fail_logins(f"reader {n}", 1)
    with record() as many:
        staff.get(PATH)
    assert len(many.sql) == len(few.sql)
