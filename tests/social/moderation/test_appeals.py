"""Appeals: within six months, once, free of charge, and decided by another member of staff if there is one."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from accounts.models import Suspension, User
from accounts.suspension import lift_suspension
from accounts.tasks import delete_accounts
from catalog.lists.models import ReadingList
from catalog.lists.services import ListDraft, create_list
from catalog.lists.undo import restore_snapshot, snapshot_list
from catalog.shelves.snapshots import NotUndoable
from social.models import Post
from social.moderation.models import Action, Appeal, Case, Decision, Kind, Outcome
from social.moderation.selectors import ReporterHistory, read_reporter_histories
from social.moderation.services.appeals import appeal_decision, decide_appeal, may_decide_appeal
from social.moderation.services.errors import AlreadyDecided, NotAllowed, NotAppealable
from social.moderation.services.reports import Reporter
from social.services.posts import create_post
from tests.support.social.cases import Dispute, deliver, enter, make_report
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def dispute() -> Dispute:
    return Dispute()


def grant(appeal: Appeal, by: User, outcome: Outcome = Outcome.GRANTED) -> Appeal:
    return decide_appeal(appeal.pk, outcome, "We looked again.", by=by)


def test_the_author_appeals_on_the_page_of_the_decision(dispute: Dispute) -> None:
    dispute.report()
    decision, client = dispute.decide(Action.HIDE), enter(dispute.alice)
    address = f"/decisions/{decision.key}/"
    assert client.post(address, {"details": ""}).status_code == 400
    page = client.post(address, {"details": "It was a <joke>."}, follow=True).content.decode()
    assert "It was a &lt;joke&gt;." in page
    assert "<textarea" not in page
    assert client.post(address, {"details": "Again"}).status_code == 409
    # The second of two clicks
    assert client.post(address, {"details": "It was a <joke>."}).status_code == 302
    assert Appeal.objects.get().report is None


def test_the_reporter_appeals_on_the_page_of_the_report(dispute: Dispute) -> None:
    report, client = dispute.report(), enter(dispute.bob)
    assert client.post(f"/reports/{report.key}/", {"details": "Too early"}).status_code == 200
    dispute.decide(Action.DISMISS)
    assert client.post(f"/reports/{report.key}/", {"details": "Read it again."}).status_code == 302
    assert Appeal.objects.get().report == report


def test_an_appeal_is_possible_for_six_months(dispute: Dispute, settings: Settings) -> None:
    dispute.report()
    decision = dispute.decide(Action.HIDE)
    settings.CLOCK = lambda: timezone.now() + timedelta(days=183)
    assert b"<textarea" in enter(dispute.alice).get(f"/decisions/{decision.key}/").content
    settings.CLOCK = lambda: timezone.now() + timedelta(days=185)
    assert b"<textarea" not in enter(dispute.alice).get(f"/decisions/{decision.key}/").content
    with pytest.raises(NotAppealable):
        appeal_decision(decision, "Too late.")


def test_a_granted_appeal_shows_the_post_again(dispute: Dispute) -> None:
    appeal = dispute.appeal(Action.HIDE)
    deliver()
    grant(appeal, dispute.dora)
    assert Post.objects.get().is_hidden is False
    (letter,) = deliver()
    assert (letter.to, letter.subject) == (["alice@example.org"], "Your appeal was granted")
    assert "We looked again." in str(letter.body)
    page = enter(dispute.alice).get(f"/decisions/{appeal.decision.key}/").content.decode()
    assert '<p class="note">This decision was reversed.' in page  # no status: the page tells it at each visit
    assert "We looked again." in page


def test_a_granted_appeal_ends_the_suspension_and_shows_the_post(dispute: Dispute) -> None:
    appeal = dispute.appeal(Action.SUSPEND, hides_post=True)
    assert Suspension.objects.exists()
    grant(appeal, dispute.dora)
    assert not Suspension.objects.exists()
    assert User.objects.get(pk=dispute.alice.pk).is_active
    assert Post.objects.get().is_hidden is False


@pytest.mark.parametrize("is_lifted", [False, True])
def test_a_granted_appeal_leaves_an_earlier_suspension(dispute: Dispute, is_lifted: bool) -> None:
    other = create_post(dispute.alice.pk, "All of you")
    cases = [make_report(Kind.POST, str(post.pk), Reporter(dispute.bob.pk)).case for post in (dispute.post, other)]
    first = dispute.decide(Action.SUSPEND, cases[0], days=30)
    if is_lifted:
        lift_suspension(dispute.alice.pk)
    second = dispute.decide(Action.SUSPEND, cases[1], days=20)
    grant(appeal_decision(second, "It was a joke."), dispute.dora)
    ends = list(Suspension.objects.values_list("ends_at", flat=True))
    assert ends == ([] if is_lifted else [first.ends_at])
    assert User.objects.get(pk=dispute.alice.pk).is_active is is_lifted
    # It has its own notice, so an appeal against it ends it.
    grant(appeal_decision(first, "So was the other one."), dispute.dora)
    assert not Suspension.objects.exists()
    assert User.objects.get(pk=dispute.alice.pk).is_active


def test_a_granted_appeal_keeps_the_account(dispute: Dispute) -> None:
    zoe = User.objects.create_superuser("zoe")
    appeal = dispute.appeal(Action.CLOSE_ACCOUNT, by=zoe)
    assert not User.objects.get(pk=dispute.alice.pk).is_active
    grant(appeal, dispute.dora)
    assert User.objects.get(pk=dispute.alice.pk).is_active


@pytest.mark.parametrize("outcome", Outcome)
def test_an_appeal_holds_the_deletion_of_the_account(dispute: Dispute, settings: Settings, outcome: Outcome) -> None:
    appeal = dispute.appeal(Action.CLOSE_ACCOUNT, by=User.objects.create_superuser("zoe"))
    settings.CLOCK = lambda: timezone.now() + timedelta(days=settings.ACCOUNT_DELETION_DAYS + 1)
    assert delete_accounts() == 0
    assert Post.objects.exists()
    grant(appeal, dispute.dora, outcome)
    is_granted = outcome == Outcome.GRANTED
    assert delete_accounts() == (0 if is_granted else 1)
    assert User.objects.filter(pk=dispute.alice.pk, is_active=True).exists() is is_granted


def test_an_appeal_of_a_reporter_does_not_hold_the_deletion(dispute: Dispute, settings: Settings) -> None:
    report = dispute.report()
    decision = dispute.decide(Action.CLOSE_ACCOUNT, by=User.objects.create_superuser("zoe"))
    appeal_decision(decision, "Too little.", report)
    settings.CLOCK = lambda: timezone.now() + timedelta(days=settings.ACCOUNT_DELETION_DAYS + 1)
    assert delete_accounts() == 1


def test_a_granted_appeal_lets_the_reader_undo_an_own_deletion_of_the_list(dispute: Dispute) -> None:
    made = create_list(dispute.alice.pk, ListDraft("Fools"))
    undo = snapshot_list(dispute.alice.pk, made.pk)
    rebuild()
    case = make_report(Kind.LIST, str(made.pk), Reporter(dispute.bob.pk)).case
    appeal = appeal_decision(dispute.decide(Action.DELETE, case), "It was a joke.")
    with pytest.raises(NotUndoable):
        restore_snapshot(dispute.alice.pk, made.pk, undo)
    grant(appeal, dispute.dora)
    restore_snapshot(dispute.alice.pk, made.pk, undo)
    assert ReadingList.objects.get().name == "Fools"


def test_a_rejected_appeal_changes_nothing(dispute: Dispute) -> None:
    appeal = dispute.appeal(Action.HIDE)
    deliver()
    grant(appeal, dispute.dora, Outcome.REJECTED)
    assert Post.objects.get().is_hidden
    assert Decision.objects.get().reversed_at is None
    assert [letter.subject for letter in deliver()] == ["Your appeal was rejected"]


def test_a_granted_appeal_of_a_reporter_opens_the_case_again(dispute: Dispute) -> None:
    report = dispute.report()
    appeal = appeal_decision(dispute.decide(Action.DISMISS), "Read it again.", report)
    deliver()
    grant(appeal, dispute.dora)
    assert Case.objects.get().closed_at is None
    assert [letter.to for letter in deliver()] == [["bob@example.org"]]
    dispute.decide(Action.HIDE, by=dispute.dora)
    assert read_reporter_histories([dispute.bob.pk]) == {dispute.bob.pk: ReporterHistory(1, 0)}
    assert "action taken" in enter(dispute.bob).get("/reports/").content.decode()
    assert {letter.to[0] for letter in deliver()} == {"alice@example.org", "bob@example.org"}


def test_a_case_is_not_opened_again_beside_a_newer_one(dispute: Dispute) -> None:
    report = dispute.report()
    appeal = appeal_decision(dispute.decide(Action.DISMISS), "Read it again.", report)
    newer = dispute.report()
    grant(appeal, dispute.dora)
    assert Case.objects.get(closed_at=None) == newer.case


def test_another_member_of_staff_decides_if_there_is_one(dispute: Dispute) -> None:
    appeal = dispute.appeal()
    assert not may_decide_appeal(appeal, dispute.carol)
    with pytest.raises(NotAllowed):
        grant(appeal, dispute.carol)
    assert may_decide_appeal(appeal, dispute.dora)
    User.objects.filter(pk=dispute.dora.pk).update(is_active=False)
    assert may_decide_appeal(appeal, User.objects.get(pk=dispute.carol.pk))


def test_neither_author_nor_reporter_nor_staff_without_the_permission_decide(dispute: Dispute) -> None:
    report = dispute.report(dispute.dora)
    appeal = appeal_decision(dispute.decide(Action.DISMISS), "Read it again.", report)
    clerk = User.objects.create_user("erin", is_staff=True)
    assert not any(may_decide_appeal(appeal, staff) for staff in (dispute.dora, dispute.alice, clerk))


def test_an_appeal_is_decided_once(dispute: Dispute) -> None:
    appeal = dispute.appeal()
    grant(appeal, dispute.dora, Outcome.REJECTED)
    with pytest.raises(AlreadyDecided):
        grant(appeal, dispute.dora)


def test_appeals_of_one_page_are_limited(dispute: Dispute, settings: Settings) -> None:
    settings.REPORT_RATES = ((2, 3600),)
    dispute.report()
    address, client = f"/decisions/{dispute.decide(Action.HIDE).key}/", enter(dispute.alice)
    assert [client.post(address, {"details": ""}).status_code for _ in range(3)] == [400, 400, 429]


def open_as(people: dict[str, Client], address: str) -> dict[str, int]:
    return {name: client.get(address).status_code for name, client in people.items()}


def test_privacy_matrix_of_reports_and_decisions(dispute: Dispute) -> None:
    """The reporter's page is for the reporter, the reasons are for the author; staff read both in the admin."""
    report = dispute.report()
    decision = dispute.decide(Action.HIDE)
    people: dict[str, Any] = {"visitor": Client(), "erin": enter(User.objects.create_user("erin"))}
    people |= {name: enter(getattr(dispute, name)) for name in ("alice", "bob", "carol")}
    refused = {"visitor": 302, "erin": 404, "carol": 404}
    assert open_as(people, f"/reports/{report.key}/") == refused | {"alice": 404, "bob": 200}
    assert open_as(people, f"/decisions/{decision.key}/") == refused | {"alice": 200, "bob": 404}
    assert open_as(people, "/reports/unknown/") == dict.fromkeys(people, 404)
    assert open_as(people, "/decisions/unknown/") == dict.fromkeys(people, 404)
    case = f"/admin/moderation/case/{report.case_id}/change/"
    assert open_as(people, case) == dict.fromkeys(("visitor", "erin", "alice", "bob"), 302) | {"carol": 200}


def test_a_post_stays_hidden_by_a_later_decision(dispute: Dispute) -> None:
    report = dispute.report()
    first = dispute.decide(Action.WARN, hides_post=True)
    grant(appeal_decision(first, "A warning is not enough.", report), by=dispute.dora)
    second = dispute.decide(Action.HIDE, by=dispute.dora)
    grant(appeal_decision(first, "It was a joke."), by=dispute.dora)
    assert Post.objects.get().is_hidden
    grant(appeal_decision(second, "It was a joke."), by=dispute.carol)
    assert not Post.objects.get().is_hidden
