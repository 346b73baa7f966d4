"""Users in the admin."""

import pytest
from django.test import Client

from accounts.models import User
from mirror.recorder import record

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("carol"))
    return client


def test_the_list_shows_and_filters_types(staff: Client) -> None:
    User.objects.create_user("alice", user_type=User.Type.OFFICE)
    User.objects.create_user("bob")
    page = staff.get("/admin/accounts/user/", {"user_type__exact": "office"}).content.decode()
    assert "alice" in page
    assert "bob" not in page


def test_the_list_costs_the_same_for_any_number_of_people(staff: Client) -> None:
    staff.get("/admin/accounts/user/")
    with record() as few:
        staff.get("/admin/accounts/user/")
    User.objects.bulk_create(User(username=f"reader {n}") for n in range(50))
    with record() as many:
        staff.get("/admin/accounts/user/")
    assert len(many.sql) == len(few.sql)


def test_somebody_can_be_added_with_a_type(staff: Client) -> None:
    asked = {
        "username": "dave",
        "user_type": "office",
        "usable_password": "true",
        "password1": "a quiet bookshop",
        "password2": "a quiet bookshop",
    }
    response = staff.post("/admin/accounts/user/add/", asked)
    assert response.status_code == 302, response.context["adminform"].errors
    dave = User.objects.get(username="dave")
    assert dave.user_type == User.Type.OFFICE
    assert dave.check_password("a quiet bookshop")


@pytest.mark.parametrize(
    "path",
    ["/admin/", "/admin/accounts/user/", "/admin/accounts/user/add/", "/admin/auth/group/", "/admin/password_change/"],
)
def test_its_pages_are_there(staff: Client, path: str) -> None:
    assert staff.get(path).status_code == 200


def test_a_user_has_a_page(staff: Client) -> None:
    user = User.objects.get(username="carol")
    assert staff.get(f"/admin/accounts/user/{user.pk}/change/").status_code == 200
    assert staff.get(f"/admin/accounts/user/{user.pk}/password/").status_code == 200
