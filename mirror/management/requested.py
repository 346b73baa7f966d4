"""Jobs that staff request in the admin. Their progress and results are rows in SQL, so that any page can show them."""

import time
from collections.abc import Sequence
from typing import Any, Final

from django.db.models.functions import Now

from mirror.comparison.compare import Difference
from mirror.comparison.expected import says
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
        job.delete()
        return None
    kept = jobs.filter(mirror=mirror).order_by("-pk").values_list("pk", flat=True)[:KEPT_JOBS]
    jobs.filter(mirror=mirror).exclude(pk__in=list(kept)).delete()
    return job


def perform(job_id: int) -> None:
    """Do the work of a job, and store its progress and result.

    A job that was deleted, has ended, or is performed elsewhere is skipped: brokers deliver tasks that take long again.
    """
    with lease(relay_client(), f"job:{job_id}") as mine:
        job = Job.objects.using(setting("DATABASE")).filter(pk=job_id, ended_at=None).first()
        if mine and job is not None:
            _perform(job)


def _perform(job: Job) -> None:
    _save(job, started_at=Now(), rows=0, total=rows_of(job.mirror))
    try:
        result = _work(job, _Progress(job))
    except Exception as error:
        _save(job, ended_at=Now(), error=f"{type(error).__name__}: {error}")
        raise
    _save(job, ended_at=Now(), **result)


class _Progress:
    """A callback ``(mirror, rows)`` that stores the number of processed rows from time to time."""

    def __init__(self, job: Job) -> None:
        self.job, self.rows, self.noted = job, 0, time.monotonic()

    def __call__(self, mirror: str, rows: int) -> None:
        self.rows += rows
        if time.monotonic() - self.noted >= JOB_PROGRESS_SECONDS:
            self.noted = time.monotonic()
            _save(self.job, rows=self.rows)


def _work(job: Job, progress: _Progress) -> dict[str, Any]:
    """Do the work. Return the columns of its result."""
    if job.kind == Job.Kind.REBUILD:
        (done,) = rebuilding.rebuild([job.mirror], progress=progress)
        return {"rows": done.rows, "error": texts.rebuilt(done) if done.skipped else ""}
    found = runs.verify([job.mirror], progress=progress)
    left = 0
    if found and job.kind == Job.Kind.REPAIR:
        repair.check_cap(found)
        repair.order(found)
        repair.carry_out(found)
        left = repair.left_over(found)
    return {
        "rows": progress.rows,
        "differences": left if job.kind == Job.Kind.REPAIR else len(found),
        "findings": _describe(found),
    }


def _describe(found: Sequence[Difference]) -> list[list[str]]:
    return [
        [d.pk, d.kind, d.key if d.entry is None else " ".join(filter(None, says(d.entry)[:2]))]
        for d in found[:KEPT_FINDINGS]
    ]


def _save(job: Job, **values: Any) -> None:
    Job.objects.using(setting("DATABASE")).filter(pk=job.pk).update(**values)
