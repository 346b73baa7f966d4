"""Pages for staff: the active users of a range, and the login calendar of a user."""

from datetime import date, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from accounts.models import User
from loginlog import services
from loginlog.days import today
from loginlog.reports import views
from tests.support.site.html import find_policy_violations

pytestmark = pytest.mark.django_db(transaction=True)
ACTIVE = "/loginlog/active/"
JSON = {"Accept": "application/json"}
DAY = date(2026, 3, 2)


@pytest.fixture
def staff(client: Client) -> Client:
    user = User.objects.create_user("ken thompson", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_report", content_type__app_label="loginlog"))
    client.force_login(user)
    return client


@pytest.fixture
def readers() -> list[User]:
    """Create five readers with a login on the same day; the last one has the type office."""
    made = [User.objects.create_user(f"reader {n}") for n in range(5)]
    User.objects.filter(pk=made[-1].pk).update(user_type=User.Type.OFFICE)
    for user in User.objects.filter(pk__in=[user.pk for user in made]):
        services.mark_login(user, DAY)
    return made


def said(client: Client, address: str) -> Any:
    answer = client.get(address, headers=JSON)
    assert answer.status_code == 200
    return answer.json()


def test_active_users_are_paginated(staff: Client, readers: list[User], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "PAGE_SIZE", 2)
    address, names, counts = f"{ACTIVE}?from={DAY}&to={DAY}", list[str](), set[int]()
    while address:
        page = said(staff, address)
        names += [user["name"] for user in page["users"]]
        counts.add(page["count"])
        html = staff.get(address).content.decode()
        assert find_policy_violations(html) == []
        for user in page["users"]:
            assert f'href="/loginlog/users/{user["id"]}/' in html
        address = page["next"]
    assert (sorted(names), counts) == ([user.username for user in readers], {5})


def test_the_list_is_filtered_by_type_and_range(staff: Client, readers: list[User]) -> None:
    days = f"from={DAY}&to={DAY}"
    assert [user["name"] for user in said(staff, f"{ACTIVE}?{days}&type=office")["users"]] == ["reader 4"]
    other = DAY + timedelta(days=1)
    assert said(staff, f"{ACTIVE}?from={other}&to={other}")["users"] == []
    readers[0].delete()
    assert "reader 0" not in [user["name"] for user in said(staff, f"{ACTIVE}?{days}")["users"]]


def test_a_calendar_shows_the_days_of_its_user(staff: Client, readers: list[User]) -> None:
    address = f"/loginlog/users/{readers[0].pk}/"
    found = said(staff, f"{address}?from={DAY}&to={DAY}")
    assert found["days"] == [str(DAY)]
    html = staff.get(f"{address}?from={DAY}&to={DAY}").content.decode()
    assert "Login days of reader 0" in html
    assert ": 1 day with a login: " in html
    assert find_policy_violations(html) == []


def test_a_name_redirects_to_the_calendar(staff: Client, readers: list[User]) -> None:
    assert staff.get(ACTIVE, {"name": " READER 0"})["Location"] == f"/loginlog/users/{readers[0].pk}/"
    unknown = staff.get(ACTIVE, {"name": "<nobody>"})
    assert unknown.status_code == 200
    assert b"User not found." in unknown.content
    assert b"&lt;nobody&gt;" in unknown.content


def test_the_report_links_to_the_list(staff: Client, readers: list[User]) -> None:
    page = staff.get(f"/loginlog/report/?from={DAY}&to={DAY}").content.decode()
    assert f'href="{ACTIVE}?from={DAY}&amp;to={DAY}"' in page


@pytest.mark.parametrize("query", ["from=x", "from=2000-01-01&to=2002-01-01", "type=nobody"])
def test_invalid_parameters_are_refused(staff: Client, query: str) -> None:
    assert staff.get(f"{ACTIVE}?{query}").status_code == 400
    assert staff.get(f"{ACTIVE}?{query}", headers=JSON).status_code == 400
    assert staff.get(f"{ACTIVE}?after=x&from={today()}").status_code == 200


def test_only_permitted_staff_see_the_pages(readers: list[User]) -> None:
    other = f"/loginlog/users/{readers[1].pk}/"
    for user in (readers[0], User.objects.create_user("clerk", is_staff=True)):
        client = Client()
        client.force_login(user)
        for address in (ACTIVE, other):
            assert client.get(address).status_code == 403
    for address in (ACTIVE, other):
        assert Client().get(address).status_code == 302
        assert Client().get(address, headers=JSON).status_code == 401


def test_the_calendar_of_a_missing_user_is_404(staff: Client) -> None:
    assert staff.get("/loginlog/users/999999/").status_code == 404
    assert staff.get("/loginlog/users/99999999999999999999/").status_code == 404
