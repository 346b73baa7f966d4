"""The content of the page of one mirror: its jobs, their findings, and links to the rows concerned."""

from typing import Any, NamedTuple

from django.contrib.admin import AdminSite
from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils.translation import gettext as _

from mirror.admin.counting import count_rows
from mirror.conf import setting
from mirror.declare.mirrors import Mirror
from mirror.kinds import kind_of
from mirror.models import Job


class Finding(NamedTuple):
    """A difference. address: the page of its row in the admin, or ""."""

    row: str
    kind: str
    place: str
    address: str


def find_jobs(mirror: str) -> list[Job]:
    """Return the jobs of a mirror, newest first."""
    return list(Job.objects.using(setting("DATABASE")).filter(mirror=mirror).order_by("-pk"))


def find_last_differences(mirror: str) -> int:
    """Return the number of differences that the last ended job of a mirror has found."""
    for job in find_jobs(mirror):
        if job.ended_at and job.kind != Job.Kind.REBUILD:
            return job.differences or 0
    return 0


class MirrorPage:
    """The jobs of a mirror for its template."""

    def __init__(self, mirror: Mirror, site: AdminSite, user: Any) -> None:
        self.mirror = mirror
        self.site = site
        self.user = user
        self.jobs = find_jobs(mirror.name)
        self.is_running = any(job.is_live for job in self.jobs)
        self.differences = find_last_differences(mirror.name)
        self.results = [(job, self._make_findings(job)) for job in self.jobs]

    def rows(self) -> int | None:
        """Return the number of rows in SQL, or None for windows and summaries."""
        rows = kind_of(self.mirror).list_rows()
        return None if rows is None else count_rows(rows)

    def _make_findings(self, job: Job) -> list[Finding]:
        return [self._make_finding(*finding) for finding in job.findings]

    def _make_finding(self, row: str, kind: str, place: str) -> Finding:
        kinds = {
            "missing": _("missing"),
            "stale": _("stale"),
            "stray": _("stray"),
            "unreadable": _("unreadable"),
            "quarantined": _("quarantined"),
        }
        address = self._find_address(row)
        return Finding(row, kinds.get(kind, kind), place, address)

    def _find_address(self, row: str) -> str:
        """Return the address of a row's page in the admin, if there is one and the user may see it."""
        options = self.mirror.model._meta
        page = self.site._registry.get(self.mirror.model)
        if page is None or not self.user.has_perm(f"{options.app_label}.view_{options.model_name}"):
            return ""
        try:
            pk = options.pk.to_python(row)
        except ValidationError:
            # The key of a stray may be anything.
            return ""
        return reverse(f"{self.site.name}:{options.app_label}_{options.model_name}_change", args=[pk])
