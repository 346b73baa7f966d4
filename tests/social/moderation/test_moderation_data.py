"""Personal data of moderation: the download, the deletion of an account, retention, and metrics."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from accounts.deletion import services as deletion
from accounts.models import User
from accounts.personal.registry import all_parts
from accounts.tasks import delete_accounts
from social.moderation.models import Action, Appeal, Case, Decision, Kind, Outcome, Report
from social.moderation.services.appeals import appeal_decision, decide_appeal
from social.moderation.services.reports import Reporter
from social.moderation.tasks import delete_old_cases
from social.services.posts import create_post
from tests.support.site.metrics import scrape
from tests.support.social.cases import Dispute, deliver, enter, make_report

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def dispute() -> Dispute:
    return Dispute()


def set_days(settings: Settings, days: float) -> None:
    settings.CLOCK = lambda: timezone.now() + timedelta(days=days)


def read_part(name: str, user_id: int) -> list[object]:
    part = next(part for part in all_parts() if part.name == name)
    assert part.read is not None
    return [dict(row) for row in part.read(user_id)]


def test_the_download_has_own_reports_decisions_and_appeals_alone(dispute: Dispute) -> None:
    report = dispute.report(details="A secret of bob")
    decision = dispute.decide(Action.WARN)
    appeal_decision(decision, "I object.")
    appeal_decision(decision, "Too little.", report)
    names = ("reports", "decisions", "appeals", "appeals_of_reporters")
    of_alice = str([read_part(name, dispute.alice.pk) for name in names])
    of_bob = str([read_part(name, dispute.bob.pk) for name in names])
    for text, is_of_alice in (
        ("A secret of bob", False), ("The post insults readers.", True), ("I object.", True), ("Too little.", False)
    ):  # fmt: skip
        assert (text in of_alice, text in of_bob) == (is_of_alice, not is_of_alice), text


def test_a_deleted_reporter_leaves_reports_without_name_and_explanation(dispute: Dispute, settings: Settings) -> None:
    dispute.report(details="A secret of bob")
    deletion.request_deletion(dispute.bob)
    set_days(settings, 15)
    assert delete_accounts() == 1
    report = Report.objects.get()
    assert (report.reporter, report.details, report.copy) == (None, "", dispute.post.text)
    assert dispute.decide(Action.HIDE).case == report.case


def test_a_deleted_author_takes_the_cases_along(dispute: Dispute, settings: Settings) -> None:
    dispute.appeal(Action.WARN)
    dispute.report()
    make_report(Kind.READER, str(dispute.bob.pk), Reporter(dispute.alice.pk))
    deletion.request_deletion(dispute.alice)
    set_days(settings, 15)
    assert delete_accounts() == 1
    assert Case.objects.get().author == dispute.bob
    assert not Decision.objects.exists()
    assert not Appeal.objects.exists()


def test_a_decision_against_a_deleted_account_outlives_it_for_an_appeal(dispute: Dispute, settings: Settings) -> None:
    """The key of the page is enough, because nobody can log in. Staff answer on the page, and no email is sent."""
    dispute.report(details="A secret of bob")
    decision = dispute.decide(Action.CLOSE_ACCOUNT, by=User.objects.create_superuser("zoe"))
    open_case = make_report(Kind.READER, str(dispute.bob.pk), Reporter(dispute.carol.pk)).case
    deliver()
    set_days(settings, 15)
    assert delete_accounts() == 1
    assert not User.objects.filter(pk=dispute.alice.pk).exists()
    set_days(settings, 183)
    assert delete_old_cases() == 0
    page, visitor = f"/decisions/{decision.key}/", Client()
    shown = visitor.get(page).content.decode()
    assert "The post insults readers." in shown
    assert "You are all fools" in shown
    assert "We deleted your account." in shown
    assert [name for name in ("alice", "bob", "secret") if re.search(rf"\b{name}\b", shown)] == []
    assert visitor.post(page, {"details": "It was a joke."}).status_code == 302
    appeal = Appeal.objects.get()
    of_staff = enter(dispute.dora).get(f"/admin/moderation/appeal/{appeal.pk}/change/").content.decode()
    assert "The account is deleted." in of_staff
    set_days(settings, 190)
    assert delete_old_cases() == 0
    decide_appeal(appeal.pk, Outcome.GRANTED, "We looked again.", by=dispute.dora)
    assert deliver() == []
    assert delete_old_cases() == 0
    shown = visitor.get(page).content.decode()
    assert "We looked again." in shown
    assert "The deleted account cannot be restored." in shown
    set_days(settings, 190 + 185)
    assert delete_old_cases() == 1
    assert visitor.get(page).status_code == 404
    assert list(Case.objects.all()) == [open_case]


def test_a_deleted_account_without_appeal_leaves_the_decision_for_six_months(
    dispute: Dispute, settings: Settings
) -> None:
    dispute.report()
    dispute.decide(Action.CLOSE_ACCOUNT, by=User.objects.create_superuser("zoe"))
    set_days(settings, 15)
    assert delete_accounts() == 1
    kept = Case.objects.get()
    assert (kept.author, kept.is_author_gone) == (None, True)
    set_days(settings, 185)
    assert delete_old_cases() == 1


def test_a_case_about_a_hashtag_is_kept_for_a_year(dispute: Dispute, settings: Settings) -> None:
    """It has no author, as have the cases about deleted accounts."""
    create_post(dispute.alice.pk, "#fools")
    case = make_report(Kind.HASHTAG, "fools", Reporter(dispute.bob.pk)).case
    decision = dispute.decide(Action.DISMISS, case)
    Decision.objects.filter(pk=decision.pk).update(action=Action.HIDE)
    assert Client().get(f"/decisions/{decision.key}/").status_code == 404
    set_days(settings, 364)
    assert delete_old_cases() == 0


def test_decisions_outlive_the_staff(dispute: Dispute, settings: Settings) -> None:
    dispute.report()
    decision = dispute.decide(Action.HIDE)
    deletion.request_deletion(dispute.carol)
    set_days(settings, 15)
    assert delete_accounts() == 1
    assert Decision.objects.get().staff is None
    page = enter(dispute.alice).get(f"/decisions/{decision.key}/").content.decode()
    assert "Somebody reported it." in page


def test_decided_cases_are_deleted_after_a_year_unless_an_appeal_is_open(dispute: Dispute, settings: Settings) -> None:
    appeal = dispute.appeal(Action.WARN)
    open_case = dispute.report().case
    set_days(settings, 364)
    assert delete_old_cases() == 0
    set_days(settings, 366)
    assert delete_old_cases() == 0  # the appeal is open
    decide_appeal(appeal.pk, Outcome.REJECTED, "No.", by=dispute.dora)
    assert delete_old_cases() == 1
    assert list(Case.objects.all()) == [open_case]


def test_metrics_tell_the_age_of_the_oldest_open_case(dispute: Dispute, settings: Settings) -> None:
    assert (scrape()["diptych_open_cases"], scrape()["diptych_oldest_case_seconds"]) == (0, 0)
    dispute.report()
    set_days(settings, 2)
    samples = scrape()
    assert samples["diptych_open_cases"] == 1
    assert samples["diptych_oldest_case_seconds"] == pytest.approx(2 * 86_400, abs=60)
