"""The queue and the page of a case in the admin."""

import re
from html import unescape
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client

from accounts.models import AuditEvent, User
from mirror.redis.recorder import record
from social.models import Post
from social.moderation.models import Action, Appeal, Case, Decision, Kind, Reason
from social.moderation.services.appeals import appeal_decision
from social.moderation.services.reports import Reporter
from social.services.posts import create_post, edit_post, hide_post
from tests.support.site.html import find_policy_violations
from tests.support.social.cases import Dispute, decide, enter, make_moderator, make_reader, make_report

CASES, APPEALS = "/admin/moderation/case/", "/admin/moderation/appeal/"
GIVEN = {"basis": "terms", "facts": "It insults readers.", "days": "7"}
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def dispute() -> Dispute:
    return Dispute()


@pytest.fixture
def staff(dispute: Dispute) -> Client:
    return enter(dispute.carol)


def found(client: Client, path: str, **asked: str) -> list[int]:
    return [row.pk for row in client.get(path, asked).context["cl"].result_list]


def read_page(client: Client, row: Case | Appeal) -> str:
    path = CASES if isinstance(row, Case) else APPEALS
    response = client.get(f"{path}{row.pk}/change/")
    assert response.status_code == 200
    html = response.content.decode()
    assert find_policy_violations(html) == []
    return html[html.index('class="own"') :]


def find_choices(html: str) -> list[str]:
    return re.findall(r'<input type="radio" name="(?:action|outcome)" value="(\w+)" required>', html)


def send(client: Client, row: Case | Appeal, **given: str) -> Any:
    path = CASES if isinstance(row, Case) else APPEALS
    return client.post(f"{path}{row.pk}/change/", given, follow=True)


def test_the_queue_has_the_most_urgent_and_oldest_targets_first(dispute: Dispute, staff: Client) -> None:
    posts = [create_post(dispute.alice.pk, f"Line {n}") for n in range(4)]
    reasons = [Reason.SPAM, Reason.VIOLENCE, Reason.HATE, Reason.VIOLENCE]
    cases = [
        make_report(Kind.POST, str(post.pk), Reporter(dispute.bob.pk), reason).case
        for post, reason in zip(posts, reasons, strict=True)
    ]
    make_report(Kind.POST, str(posts[0].pk), Reporter(dispute.dora.pk), Reason.OTHER)
    assert found(staff, CASES) == [cases[n].pk for n in (1, 3, 2, 0)]
    page = staff.get(CASES).content.decode()
    assert "Spam or advertising, Another violation of the terms" in page
    decide(cases[1], Action.DISMISS, dispute.carol)
    assert found(staff, CASES) == [cases[n].pk for n in (3, 2, 0)]
    assert found(staff, CASES, state="decided") == [cases[1].pk]
    assert found(staff, CASES, kind="reader") == []


def test_the_page_shows_content_thread_reports_and_history(dispute: Dispute, staff: Client) -> None:
    above = create_post(dispute.dora.pk, "The post above")
    post = create_post(dispute.alice.pk, "You <b> fool", parent_id=above.pk)
    create_post(dispute.dora.pk, "The reply", parent_id=post.pk)
    case = make_report(Kind.POST, str(post.pk), Reporter(dispute.bob.pk), Reason.HATE, "Read <i> this.").case
    make_report(Kind.POST, str(post.pk), Reporter(None, "Erin", "erin@example.org"), Reason.ILLEGAL)
    edit_post(post.pk, "Another text", by=dispute.alice.pk)
    hide_post(post.pk)
    dispute.report()
    dispute.decide(Action.WARN, Case.objects.latest("pk"))
    page = read_page(staff, case)
    for wanted in (
        "Post by alice", "The post above", "Another text", "The reply", "(hidden)", ">edited</a>)",
        "You &lt;b&gt; fool", "Read &lt;i&gt; this.", "bob", "Erin", "erin@example.org",
        "1 decision against this author", "Earlier decisions", "0 of 1 decided report dismissed",
    ):  # fmt: skip
        assert wanted in page, wanted
    assert find_choices(page) == ["dismiss", "hide", "delete", "warn", "suspend"]


def test_a_reporter_whose_reports_are_mostly_dismissed_is_shown(dispute: Dispute, staff: Client) -> None:
    for number in range(6):
        post = create_post(dispute.alice.pk, f"Line {number}")
        case = make_report(Kind.POST, str(post.pk), Reporter(dispute.bob.pk)).case
        if number < 5:
            decide(case, Action.HIDE if number == 0 else Action.DISMISS, dispute.carol)
    page = read_page(staff, case)
    assert "4 of 5 decided reports dismissed" in page
    assert "mostly dismissed" in page


@pytest.mark.parametrize(
    ("kind", "choices"),
    [(Kind.READER, ["dismiss", "warn", "suspend"]), (Kind.HASHTAG, ["dismiss"])],
)
def test_the_page_shows_the_posts_of_readers_and_hashtags(
    dispute: Dispute, staff: Client, kind: Kind, choices: list[str]
) -> None:
    post = create_post(dispute.alice.pk, "About #moss")
    target = {Kind.READER: str(dispute.alice.pk), Kind.HASHTAG: "moss"}[kind]
    case = make_report(kind, target, Reporter(dispute.bob.pk)).case
    page = read_page(staff, case)
    assert "About #moss" in page
    assert f'href="/report/post/{post.pk}/"' in page  # staff open a case about the post
    assert find_choices(page) == choices


def test_a_button_decides_and_writes_to_the_audit_log(dispute: Dispute, staff: Client) -> None:
    case = dispute.report().case
    page = send(staff, case, action="hide", **GIVEN).content.decode()
    assert "Decided: Hide." in page
    assert Post.objects.get().is_hidden
    event = AuditEvent.objects.filter(kind=AuditEvent.Kind.STAFF).latest("pk")
    assert (event.actor, event.object, event.model) == (dispute.carol, f"case {case.pk}", "moderation.case")
    assert "Decided: Hide." in event.details
    assert "alice" not in LogEntry.objects.get().object_repr
    assert find_choices(read_page(staff, case)) == []
    assert "This was decided already." in send(staff, case, action="delete", **GIVEN).content.decode()


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"action": "warn", "facts": ""}, "The author must know the facts."),
        ({"action": "suspend", "days": ""}, "Say for how many days."),
        ({"action": "suspend", "days": "366"}, "365"),
        ({"action": "warn", "basis": "law"}, "Name the law."),
    ],
)
def test_an_incomplete_decision_is_shown_again(
    dispute: Dispute, staff: Client, given: dict[str, str], error: str
) -> None:
    page = send(staff, dispute.report().case, **(GIVEN | given)).content.decode()
    assert error in page
    assert not Decision.objects.exists()


@pytest.mark.parametrize("action", ["close", "nonsense", ""])
def test_an_action_that_the_page_does_not_offer_is_refused(dispute: Dispute, staff: Client, action: str) -> None:
    send(staff, dispute.report().case, action=action, **GIVEN)
    assert not Decision.objects.exists()


def test_staff_with_the_view_permission_alone_decide_nothing(dispute: Dispute) -> None:
    clerk = User.objects.create_user("erin", is_staff=True)
    clerk.user_permissions.set(Permission.objects.filter(codename__in=["view_case", "view_appeal"]))
    client, appeal = enter(clerk), dispute.appeal()
    assert find_choices(read_page(client, appeal.decision.case)) == []
    assert "Another member of staff" in read_page(client, appeal)
    assert send(client, appeal.decision.case, action="dismiss", **GIVEN).status_code == 403
    assert send(client, appeal, outcome="granted", answer="Yes").status_code == 403


def test_a_moderator_has_no_choices_in_a_case_about_themselves(dispute: Dispute) -> None:
    erin = make_moderator("erin")
    case = make_report(Kind.READER, str(erin.pk), Reporter(dispute.bob.pk)).case
    assert "Nobody decides about themselves." in read_page(enter(erin), case)


def test_another_member_of_staff_decides_the_appeal(dispute: Dispute, staff: Client) -> None:
    appeal = dispute.appeal()
    assert found(staff, APPEALS) == [appeal.pk]
    page = read_page(staff, appeal)
    assert "It was a joke." in page
    assert "Another member of staff decides this appeal." in page
    assert "You may not decide this." in send(staff, appeal, outcome="granted", answer="Yes").content.decode()
    dora = enter(dispute.dora)
    assert find_choices(read_page(dora, appeal)) == ["granted", "rejected"]
    assert "Decided: granted." in send(dora, appeal, outcome="granted", answer="A joke.").content.decode()
    assert found(staff, APPEALS) == []
    assert found(staff, APPEALS, state="decided") == [appeal.pk]
    assert "A joke." in read_page(staff, appeal)


def test_pages_cost_the_same_with_many_reports(dispute: Dispute, staff: Client) -> None:
    report = dispute.report()
    read_page(staff, report.case)
    with record() as few:
        read_page(staff, report.case)
        staff.get(CASES)
    for number in range(8):
        dispute.report(make_reader(f"reader {number}"))
    with record() as many:
        read_page(staff, report.case)
        staff.get(CASES)
    assert len(many.sql) == len(few.sql)


def test_home_counts_open_cases_and_appeals(dispute: Dispute, staff: Client) -> None:
    report = dispute.report()
    appeal_decision(dispute.decide(Action.DISMISS), "Read it again.", report)
    for number in range(2):
        post = create_post(dispute.alice.pk, f"Line {number}")
        make_report(Kind.POST, str(post.pk), Reporter(dispute.bob.pk))
    html = staff.get("/admin/").content.decode()
    numbers = re.findall(r'<dt>([^<]*)</dt><dd><a href="([^"]*)">([^<]*)</a>', html)
    counts = {label: (unescape(address), value) for label, address, value in numbers}
    assert counts == {"open cases": (CASES, "2"), "open appeals": (APPEALS, "1")}
    for address, value in counts.values():
        assert staff.get(address).context["cl"].result_count == int(value)
