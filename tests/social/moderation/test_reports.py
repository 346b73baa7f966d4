"""Reports: the form without JavaScript, for readers and visitors, cases by target, and limits."""

from datetime import date
from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from catalog.lists.services import ListDraft, change_list, create_list
from catalog.models import Tag
from catalog.shelves.models import Privacy
from common.paths import make_path
from mirror.relay.drains import drain_all
from social.models import Block
from social.moderation.models import Action, Case, Kind, Reason, Report, Severity
from social.profiles.services import set_texts
from social.reviews.services import Draft, write_review
from social.services import people
from social.services.posts import create_post, delete_post, edit_post, hide_post
from tests.support.catalog.make import make_book
from tests.support.social.cases import Dispute, deliver, enter
from tests.support.warm_mirrors import rebuild

JSON = {"Accept": "application/json"}
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def dispute() -> Dispute:
    return Dispute()


def send(client: Client, kind: str, target: Any, **fields: Any) -> Any:
    given = {"reason": "harassment", "details": "It insults me.", **fields}
    return client.post(make_path("moderation:report", kind, str(target)), given)


def test_a_reader_reports_a_post_and_gets_a_number(dispute: Dispute) -> None:
    client = enter(dispute.bob)
    address = f"/report/post/{dispute.post.pk}/"
    assert f'href="{address}"' in client.get(f"/posts/{dispute.post.pk}/").content.decode()
    page = client.get(address).content.decode()
    assert "You are all fools &lt;b&gt;" in page
    response = send(client, "post", dispute.post.pk)
    report = Report.objects.get()
    assert response.headers["Location"] == f"/reports/{report.key}/"
    page = client.get(response.headers["Location"]).content.decode()
    assert f"Report {report.pk}" in page
    assert "<p>We got your report." in page  # no status: the page tells it at each visit
    assert (report.reporter, report.copy, report.case.author) == (dispute.bob, dispute.post.text, dispute.alice)
    (letter,) = deliver()
    assert letter.to == ["bob@example.org"]
    assert f"http://127.0.0.1:8000/reports/{report.key}/" in str(letter.body)
    assert "insults" not in str(letter.body)


def test_reports_of_one_target_join_its_open_case(dispute: Dispute) -> None:
    first = dispute.report(reason=Reason.SPAM)
    assert first.case.severity == Severity.LOW
    assert dispute.report(reason=Reason.HATE) == first  # one open report of a reader
    edit_post(dispute.post.pk, "Nothing to see", by=dispute.alice.pk)
    drain_all()
    second = dispute.report(dispute.dora, Reason.VIOLENCE)
    assert (second.case, second.copy) == (first.case, "Nothing to see")
    assert Case.objects.get().severity == Severity.HIGH
    dispute.decide(Action.DISMISS)
    assert dispute.report().case != first.case


def test_a_reader_learns_that_a_further_report_was_not_added(dispute: Dispute) -> None:
    client = enter(dispute.bob)
    for details, is_told in (("It insults me.", False), ("It insults me.", False), ("It is worse now.", True)):
        address = send(client, "post", dispute.post.pk, details=details).headers["Location"]
        page = client.get(address).content.decode()
        assert "It insults me." in page
        assert ("You have reported this already." in page) == is_told
    assert Report.objects.count() == 1


def test_visitors_report_illegal_content_with_name_and_address(dispute: Dispute) -> None:
    client = Client()
    page = client.get(f"/report/post/{dispute.post.pk}/").content.decode()
    assert 'value="illegal"' in page
    assert 'value="spam"' not in page
    assert send(client, "post", dispute.post.pk).status_code == 400  # only a reader may report that
    given = {"reason": "illegal", "details": "§ 130", "is_true": "on"}
    assert send(client, "post", dispute.post.pk, **given).status_code == 400
    given |= {"name": "Erin", "email": "erin@example.org"}
    for missing in ("details", "is_true", "name", "email"):
        assert send(client, "post", dispute.post.pk, **(given | {missing: ""})).status_code == 400, missing
    response = send(client, "post", dispute.post.pk, **given)
    report = Report.objects.get()
    assert (report.reporter, report.name, report.email) == (None, "Erin", "erin@example.org")
    assert "We got your report." in Client().get(response.headers["Location"]).content.decode()
    assert [letter.to for letter in deliver()] == [["erin@example.org"]]


def test_the_sexual_abuse_of_children_is_reported_without_a_name(dispute: Dispute) -> None:
    response = send(Client(), "post", dispute.post.pk, reason="child", is_true="on", details="")
    assert response.status_code == 302
    assert Report.objects.get().case.severity == Severity.HIGH
    assert deliver() == []


def test_a_block_does_not_open_the_profile_of_a_private_account(dispute: Dispute) -> None:
    set_texts(dispute.alice.pk, "Secret of alice", [])
    rebuild()
    client, address = enter(dispute.bob), f"/report/reader/{dispute.alice.pk}/"
    assert "Secret of alice" in client.get(address).content.decode()
    people.set_private(dispute.alice.pk, is_private=True)
    people.block(dispute.bob.pk, dispute.alice.pk)
    drain_all()
    page = client.get(address).content.decode()
    assert "alice" in page
    assert "Secret of alice" not in page


def test_readers_hashtags_tags_and_lists_are_reported(dispute: Dispute) -> None:
    create_post(dispute.alice.pk, "About #Moss")
    tag = Tag.objects.create(name="young adult")
    make_book("Emma").tags.add(tag)
    made = create_list(dispute.alice.pk, ListDraft("Fools", "All of <them>"))
    rebuild()
    client = enter(dispute.bob)
    links = {"reader": "/u/alice/", "hashtag": "/tags/moss/", "tag": "/books/?q=%22young+adult%22"}
    links["list"] = f"/lists/{made.pk}/"
    targets = {"reader": str(dispute.alice.pk), "hashtag": "moss", "tag": "young adult", "list": made.pk}
    for kind, target in targets.items():
        address = make_path("moderation:report", kind, str(target))
        assert f'href="{address}"' in client.get(links[kind]).content.decode(), kind
        assert client.get(address).status_code == 200
        assert send(client, kind, target).status_code == 302
    cases = {case.kind: (case.target, case.author) for case in Case.objects.all()}
    assert cases == {
        Kind.READER: (str(dispute.alice.pk), dispute.alice),
        Kind.HASHTAG: ("moss", None),
        Kind.TAG: ("young adult", None),
        Kind.LIST: (str(made.pk), dispute.alice),
    }
    assert Report.objects.get(case__kind=Kind.LIST).copy == "Fools\nAll of <them>"
    change_list(dispute.alice.pk, made.pk, ListDraft("Fools", privacy=Privacy.ME))
    drain_all()
    assert send(enter(dispute.dora), "list", made.pk).status_code == 404


@pytest.mark.parametrize(
    ("kind", "target"),
    [
        ("post", "0"), ("post", "99999"), ("post", "x"), ("post", "9" * 25), ("reader", "99999"), ("reader", "alice"),
        ("list", "1"), ("list", "x"), ("hashtag", "moss"), ("hashtag", "!"), ("tag", "unknown"), ("book", "1"),
    ],
)  # fmt: skip
def test_unknown_targets_are_not_found(dispute: Dispute, kind: str, target: str) -> None:
    assert enter(dispute.bob).get(make_path("moderation:report", kind, target)).status_code == 404
    assert send(enter(dispute.bob), kind, target).status_code == 404


def test_only_visible_posts_are_reported_but_a_block_prevents_no_report(dispute: Dispute) -> None:
    Block.objects.create(blocker=dispute.alice, blocked=dispute.bob)
    drain_all()
    assert send(enter(dispute.bob), "post", dispute.post.pk).status_code == 302
    assert send(enter(dispute.bob), "reader", dispute.alice.pk).status_code == 302
    assert send(enter(dispute.dora), "post", dispute.post.pk).status_code == 302
    hide_post(dispute.post.pk)
    drain_all()
    assert send(enter(dispute.carol), "post", dispute.post.pk).status_code == 404


def test_readers_report_a_reader_whom_they_have_blocked(dispute: Dispute) -> None:
    Block.objects.create(blocker=dispute.bob, blocked=dispute.alice)
    client = enter(dispute.bob)
    assert f'href="/report/reader/{dispute.alice.pk}/"' in client.get("/u/alice/").content.decode()
    assert send(client, "reader", dispute.alice.pk).status_code == 302


def test_nobody_reports_themselves(dispute: Dispute) -> None:
    client = enter(dispute.alice)
    assert "/report/" not in client.get(f"/posts/{dispute.post.pk}/").content.decode()
    assert send(client, "post", dispute.post.pk).status_code == 403
    assert send(client, "reader", dispute.alice.pk).status_code == 403


def test_reports_are_limited_by_reader_address_and_email(dispute: Dispute, settings: Settings) -> None:
    settings.REPORT_RATES = ((2, 3600),)
    bob, visitor = enter(dispute.bob), Client(REMOTE_ADDR="192.0.2.1")
    given = {"reason": "illegal", "is_true": "on", "name": "Erin", "email": "erin@example.org"}
    assert [send(bob, "post", dispute.post.pk).status_code for _ in range(3)] == [302, 302, 429]
    assert [send(visitor, "post", dispute.post.pk, **given).status_code for _ in range(3)] == [302, 302, 429]
    refused = send(Client(REMOTE_ADDR="192.0.2.2"), "post", dispute.post.pk, **given)
    assert refused.status_code == 429
    assert "It insults me." in refused.content.decode()
    given["email"] = "frank@example.org"
    assert send(Client(REMOTE_ADDR="192.0.2.2"), "post", dispute.post.pk, **given).status_code == 302


def test_an_address_gets_a_limited_number_of_emails(dispute: Dispute, settings: Settings) -> None:
    settings.MODERATION_EMAILS = 1
    dispute.report()
    dispute.decide(Action.DISMISS)
    assert len(deliver()) == 1


def test_programs_report_in_json(dispute: Dispute) -> None:
    client, address = enter(dispute.bob), f"/report/post/{dispute.post.pk}/"
    refused = client.post(address, {"reason": "other"}, headers=JSON)
    assert (refused.status_code, refused.json()["error"]["field"]) == (400, "details")
    made = client.post(address, {"reason": "spam"}, headers=JSON)
    assert made.status_code == 201
    assert made.json() == {"number": Report.objects.get().pk, "url": f"/reports/{Report.objects.get().key}/"}


def test_the_page_of_own_reports_shows_their_states(dispute: Dispute) -> None:
    client = enter(dispute.bob)
    assert "You have not reported anything." in client.get("/reports/").content.decode()
    dispute.report()
    assert "awaiting a decision" in client.get("/reports/").content.decode()
    dispute.decide(Action.DISMISS)
    assert "no violation found" in client.get("/reports/").content.decode()
    dispute.report()
    dispute.decide(Action.HIDE, Case.objects.latest("pk"))
    assert "action taken" in client.get("/reports/").content.decode()
    page = enter(dispute.alice).get("/reports/").content.decode()
    assert "Decision" in page
    assert 'href="/reports/"' in enter(dispute.alice).get("/accounts/").content.decode()
    assert Client().get("/reports/").status_code == 302


def test_a_report_of_a_review_keeps_its_whole_text(dispute: Dispute) -> None:
    text = f"Lovely. ||A hidden insult|| {'filler ' * 200} A late insult"
    book = make_book("Emma")
    review = write_review(dispute.alice.pk, book.pk, Draft(text, None), date(2026, 11, 27))
    drain_all()
    assert send(enter(dispute.bob), "post", review.pk).status_code == 302
    report = Report.objects.get(case__target=str(review.pk))
    page = enter(dispute.carol).get(f"/admin/moderation/case/{report.case_id}/change/").content.decode()
    assert page.count("A late insult") == page.count("A hidden insult") == 2
    delete_post(review.pk, by=dispute.alice.pk)
    page = enter(dispute.carol).get(f"/admin/moderation/case/{report.case_id}/change/").content.decode()
    assert page.count("A late insult") == 1
    assert 'name="action" value="delete"' not in page
    assert 'name="action" value="warn"' in page
