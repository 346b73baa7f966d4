"""Reports and decisions at the same time."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import pytest
from django.db import connections

from common.refusals import Refused
from social.moderation.models import Action, Appeal, Case, Decision, Report
from social.moderation.services.appeals import appeal_decision
from tests.support.social.cases import Dispute, decide, make_reader

WORKERS = 6
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def dispute() -> Dispute:
    return Dispute()


def run_together(jobs: Sequence[Callable[[], object]]) -> int:
    """Run the jobs in threads that start together. Return the number of refused ones."""
    barrier = Barrier(len(jobs))

    def run(job: Callable[[], object]) -> int:
        try:
            barrier.wait(10)
            job()
        except Refused:
            return 1
        finally:
            connections.close_all()
        return 0

    with ThreadPoolExecutor(len(jobs)) as pool:
        return sum(pool.map(run, jobs))


def test_first_reports_at_the_same_time_open_one_case(dispute: Dispute) -> None:
    readers = [make_reader(f"reader {number}") for number in range(WORKERS)]
    run_together([partial(dispute.report, reader) for reader in readers])
    assert Case.objects.get().reports.count() == WORKERS


def test_clicks_at_the_same_time_make_one_report(dispute: Dispute) -> None:
    run_together([dispute.report] * WORKERS)
    assert Report.objects.count() == 1


def test_one_of_several_decisions_at_the_same_time_counts(dispute: Dispute) -> None:
    case = dispute.report().case
    jobs = [lambda: decide(case, Action.WARN, dispute.carol), lambda: decide(case, Action.HIDE, dispute.dora)]
    assert run_together(jobs) == 1
    assert Decision.objects.count() == 1


def test_a_report_during_a_decision_is_decided_or_opens_a_new_case(dispute: Dispute) -> None:
    case, erin = dispute.report().case, make_reader("erin")
    run_together([lambda: decide(case, Action.WARN, dispute.carol), lambda: dispute.report(erin)])
    joined = Report.objects.get(reporter=erin).case
    assert joined == case or joined.closed_at is None


def test_clicks_at_the_same_time_make_one_appeal(dispute: Dispute) -> None:
    dispute.report()
    decision = dispute.decide(Action.HIDE)
    assert run_together([lambda: appeal_decision(decision, "No.")] * 3) == 0
    assert Appeal.objects.count() == 1


def test_only_one_of_two_appeals_at_the_same_time_counts(dispute: Dispute) -> None:
    dispute.report()
    decision = dispute.decide(Action.HIDE)
    assert run_together([lambda: appeal_decision(decision, "No."), lambda: appeal_decision(decision, "Never.")]) == 1
    assert Appeal.objects.count() == 1
