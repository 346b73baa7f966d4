"""Jobs that staff request in the admin. Their progress and results are rows in SQL, so that any page can show them."""

import time
from collections.abc import Sequence
from typing import Any, Final

from django.db.models.functions import Now

from mirror.comparison.compare import Difference
from mirror.comparison.expected import describe_entry
from mirror.conf import setting
from mirror.management import texts
from mirror.models import Job
from mirror.redis.clients import relay_client
from mirror.redis.lease import lease
from mirror.relay import send
from mirror.status import rows_of
from mirror.upkeep import rebuild as rebuilding
from mirror.verify import repair, runs

JOB_PROGRESS_SECONDS: Final = 0.5  # how often a job of the admin stores its progress

KEPT_JOBS: Final = 10  # of each mirror
KEPT_FINDINGS: Final = 100


def request(mirror: str, kind: str) -> Job | None:
    """Store a job and send its task. Return None if no relay can be asked. Old jobs of the mirror are deleted."""
    jobs = Job.objects.using(setting("DATABASE"))
    job = jobs.create(mirror=mirror, kind=kind)
    if not send.perform(job.pk):
        # Nothing would ever perform it, and the page would show it as waiting.
        job.delete()
        return None
    of_mirror = jobs.filter(mirror=mirror)
    kept = of_mirror.order_by("-pk").values_list("pk", flat=True)[:KEPT_JOBS]
    of_mirror.exclude(pk__in=list(kept)).delete()
    return job


def perform(job_id: int) -> None:
    """Do the work of a job, and store its progress and result.

    A job that was deleted, has ended, or is performed elsewhere is skipped: brokers deliver tasks that take long again.
    """
    with lease(relay_client(), f"job:{job_id}") as is_mine:
        # Read under the lease: another worker may have ended it a moment ago.
        job = Job.objects.using(setting("DATABASE")).filter(pk=job_id, ended_at=None).first()
        if is_mine and job is not None:
            _perform_job(job)


def _perform_job(job: Job) -> None:
    _save_job(job, started_at=Now(), rows=0, total=rows_of(job.mirror))
    try:
        result = _do_work(job, _Progress(job))
    except Exception as error:
        _save_job(job, ended_at=Now(), error=f"{type(error).__name__}: {error}")
        raise
    _save_job(job, ended_at=Now(), **result)


class _Progress:
    """A callback ``(mirror, rows)`` that stores the number of processed rows from time to time."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.rows = 0
        self.noted = time.monotonic()

    def __call__(self, mirror: str, rows: int) -> None:
        self.rows += rows
        if time.monotonic() - self.noted >= JOB_PROGRESS_SECONDS:
            self.noted = time.monotonic()
            _save_job(self.job, rows=self.rows)


def _do_work(job: Job, progress: _Progress) -> dict[str, Any]:
    """Do the work. Return the columns of its result."""
    if job.kind == Job.Kind.REBUILD:
        (done,) = rebuilding.rebuild([job.mirror], progress=progress)
        error = texts.rebuilt(done) if done.skipped else ""
        return {"rows": done.rows, "error": error}
    found = runs.verify([job.mirror], progress=progress)
    differences = len(found)
    if found and job.kind == Job.Kind.REPAIR:
        repair.check_cap(found)
        repair.order(found)
        repair.carry_out(found)
        # The page shows what was found, and how much of it is left.
        differences = repair.count_unapplied(found)
    return {"rows": progress.rows, "differences": differences, "findings": _describe_findings(found)}


def _describe_findings(found: Sequence[Difference]) -> list[list[str]]:
    """Return the first findings in a form for JSON: row, kind and place."""
    findings: list[list[str]] = []
    for difference in found[:KEPT_FINDINGS]:
        place = difference.key
        if difference.entry is not None:
            key, member, _ = describe_entry(difference.entry)
            place = f"{key} {member}" if member else key
        findings.append([difference.pk, difference.kind, place])
    return findings


def _save_job(job: Job, **values: Any) -> None:
    Job.objects.using(setting("DATABASE")).filter(pk=job.pk).update(**values)
