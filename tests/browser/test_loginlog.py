"""The calendar, the report, and the login log on the start page of the admin."""

import re
from datetime import date, timedelta

import pytest
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from loginlog.days import ONE_DAY, today
from tests.browser.conftest import WIDTHS, Audit, OpenPage, find_overflows, resize, settled
from tests.support.loginlog import tools

pytestmark = pytest.mark.django_db(transaction=True)

PAGES = ["/loginlog/?from=soon", "/loginlog/report/?by=month&reading=after"]


@pytest.fixture
def alice(transactional_db: None) -> User:
    """Return a staff user with logins on the last ten days, beside fifteen users with random logins."""
    user = User.objects.create_superuser("alice", password="a quiet bookshop")
    marks = tools.random_marks(tools.make_users(15), today() - timedelta(days=90), today())
    tools.write_marks(marks | {(today() - n * ONE_DAY, "client", user.pk) for n in range(10)})
    return user


def sign_in(page: Page, user: User, live_server: LiveServer) -> Page:
    """Give the browser a session of the user, without the login form."""
    client = Client()
    client.force_login(user)
    cookie = client.cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": cookie, "url": live_server.url}])
    return page


def test_loginlog_pages_are_accessible_and_fit(
    open_page: OpenPage, live_server: LiveServer, alice: User, audit: Audit
) -> None:
    page = sign_in(open_page(), alice, live_server)
    for address in PAGES:
        page.goto(address)
        assert audit(page) == [], address


def test_labels_align_with_their_lines_and_days_have_one_size(
    open_page: OpenPage, live_server: LiveServer, alice: User
) -> None:
    page = sign_in(open_page(), alice, live_server)
    for width in WIDTHS:
        resize(page, width)
        page.goto("/loginlog/report/")
        settled(page)
        gaps = page.locator(".plot").first.evaluate(
            """plot => {
                const middle = (box) => (box.top + box.bottom) / 2;
                const lines = [...plot.querySelectorAll(".rule")].map((line) => middle(line.getBoundingClientRect()));
                return [...plot.querySelectorAll(".plot-scale li")].map((label, place) => {
                    const text = document.createRange();
                    text.selectNodeContents(label);
                    return middle(text.getBoundingClientRect()) - lines.at(-1 - place);
                });
            }"""
        )
        assert len(gaps) > 1
        assert max(map(abs, gaps)) < 2
        page.goto("/loginlog/")
        settled(page)
        sizes = "texts => [...new Set(texts.map((text) => getComputedStyle(text).fontSize))]"
        assert len(page.locator(".sheet-of-days g:not(.weekdays) text").evaluate_all(sizes)) == 1
        page.set_viewport_size({"width": 390, "height": 844})
        scale = page.locator(".sheet-of-days").first.evaluate("sheet => sheet.getScreenCTM().a")
        assert 12 * scale >= 10  # pixels of a digit on a phone
        tops = page.locator(".figures > div").evaluate_all("all => new Set(all.map((one) => one.offsetTop)).size")
        assert tops == 1  # row of figures


def test_start_page_of_the_admin_shows_the_login_log(open_page: OpenPage, live_server: LiveServer, alice: User) -> None:
    page = sign_in(open_page(), alice, live_server)
    page.goto("/admin/")
    logins = page.locator("section").filter(has=page.get_by_role("heading", name="Logins", exact=True))
    for width in WIDTHS:
        assert find_overflows(page, [width]) == []
        expect(logins).to_have_count(1)
        expect(logins.get_by_role("img", name=re.compile("Daily users"))).to_be_visible()
        expect(logins.locator(".sheet-of-days")).to_have_count(12)
        expect(logins.get_by_role("table", name=re.compile("Retention"))).to_be_visible()


def test_months_and_days_are_reachable_by_keyboard(open_page: OpenPage, live_server: LiveServer, alice: User) -> None:
    page = sign_in(open_page(java_script_enabled=False), alice, live_server)
    page.goto("/loginlog/")
    page.get_by_text("Choose dates").focus()
    first = max(today() - 9 * ONE_DAY, date(today().year, 1, 1))  # of the logins of this year
    for month in range(first.month, today().month + 1):
        page.keyboard.press("Tab")
        link = page.locator(":focus")
        expect(link).to_have_attribute("href", f"#m{date(today().year, month, 1):%Y-%m}")
    expect(link).to_have_accessible_name(re.compile(r": \d+ days? with a login: .*\d$"))
    page.keyboard.press("Enter")
    row = page.locator(":focus")
    expect(row).to_have_attribute("id", f"m{today():%Y-%m}")
    expect(row).to_be_in_viewport()
    expect(row).to_contain_text(str(today().day))


def test_form_selects_another_range(open_page: OpenPage, live_server: LiveServer, alice: User) -> None:
    page = sign_in(open_page(), alice, live_server)
    page.goto("/loginlog/report/?by=month")
    first = today() - timedelta(days=4)
    page.get_by_label("From").fill(first.isoformat())
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile(f"from={first}&to={today()}&by=month"))
    expect(page.get_by_role("table", name=re.compile("Daily figures")).locator("tbody tr")).to_have_count(5)
    page.get_by_role("link", name="in that period or later").click()
    expect(page.get_by_role("link", name="in that period or later")).to_have_attribute("aria-current", "true")
    expect(page.get_by_label("From")).to_have_value(first.isoformat())


def test_csv_is_downloaded(open_page: OpenPage, live_server: LiveServer, alice: User) -> None:
    page = sign_in(open_page(), alice, live_server)
    page.goto("/loginlog/report/")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download as CSV").first.click()
    assert download.value.suggested_filename == f"logins-activity-{today() - timedelta(days=29)}-{today()}.csv"
