"""The meter of a new password: it sends nothing, and is announced."""

import pytest
from playwright.sync_api import Page, Request, expect

from tests.browser.conftest import Audit

pytestmark = pytest.mark.django_db(transaction=True)

ADVICE = "At least 10 characters"


def test_a_new_password_is_estimated_in_the_browser(person: Page, plain: Page, audit: Audit) -> None:
    sent: list[Request] = []
    person.on("request", lambda request: sent.append(request))
    person.goto("/accounts/register/")
    said = person.locator("[data-strength]").get_by_role("status")
    person.get_by_label("Name").fill("rosalind")
    sent.clear()
    password = person.get_by_label("Password", exact=True)
    below = "field => document.getElementById(`${field.id}-help`).offsetTop - field.offsetTop - field.offsetHeight"
    assert {each.evaluate(below) for each in (person.get_by_label("Name"), password)} == {8}, "nothing empty between"
    cases = {
        "short": "too weak",  # the server refuses it
        "rosalind99": "weak",  # it is the name
        "correct horse battery staple": "strong",
        "password1234": "weak",
        "aaaaaaaaaaaa": "too weak",
        "asdfghjkl;1234": "weak",
        "quietbookshops": "weak",
        "a quiet bookshop": "fair",
        "tK7#wq9Zp2": "strong",
    }
    for typed, strength in cases.items():
        password.fill(typed)
        expect(said).to_have_text(f"Password strength: {strength}")
    assert audit(person) == []
    password.fill("")
    expect(said).to_have_text("")
    assert [request.url for request in sent] == []
    password.fill("correct horse battery staple")
    person.get_by_label("Confirm password").fill("correct horse battery staple")
    person.get_by_role("main").get_by_role("button", name="Register").click()
    expect(person.get_by_role("banner")).to_contain_text("rosalind")
    person.goto("/accounts/password_change/")
    person.get_by_label("New password", exact=True).fill("rosalind99")
    expect(said).to_have_text("Password strength: weak")
    # Without scripts there is the advice alone.
    plain.goto("/accounts/register/")
    expect(plain.get_by_label("Password", exact=True)).to_have_accessible_description(
        f"{ADVICE}. Not a common password, your name or only digits."
    )
    expect(plain.locator("meter")).to_be_hidden()
