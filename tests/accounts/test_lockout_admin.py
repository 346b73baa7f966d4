"""Lock-outs in the admin, and the action that ends them."""

import pytest
from django.contrib.auth.models import Permission
from django.test import Client, RequestFactory

from accounts.lockout.models import FailedLogins
from accounts.models import User
from accounts.second_factor.views.checking import list_factor_limits
from mirror.redis.recorder import record
from tests.support.accounts.lockout import PASSWORD, fail_logins, is_logged_in, log_in

PATH = "/admin/accounts/failedlogins/"

pytestmark = pytest.mark.django_db


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


def test_support_resets_no_counter_of_staff(staff: Client) -> None:
    """Counters of forms store a digest of their subject, so only superusers reset them."""
    dora = User.objects.create_user("dora", password=PASSWORD, is_staff=True)
    dora.user_permissions.set(Permission.objects.filter(codename__in=["view_failedlogins", "delete_failedlogins"]))
    support = Client()
    support.force_login(dora)
    fail_logins("carol", 2)
    fail_logins("alice", 2)
    for limit in list_factor_limits(RequestFactory().get("/"), User.objects.get(username="carol"), code="000000"):
        limit.count_submission()
    keys = list(FailedLogins.objects.values_list("pk", flat=True))
    assert FailedLogins.objects.filter(kind="form").count() == 2
    support.post(PATH, {"action": "unlock", "_selected_action": keys})
    assert set(FailedLogins.objects.values_list("kind", "name")) == {("form", ""), ("pair", "carol"), ("name", "carol")}
    staff.post(PATH, {"action": "unlock", "_selected_action": keys})
    assert not FailedLogins.objects.exists()
