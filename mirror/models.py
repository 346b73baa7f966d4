"""The outbox, and further state of the mirrors in SQL."""

import time
import uuid

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from mirror.indexes import NarrowIndex
from mirror.utils import moments


class ChangeQuerySet(models.QuerySet["Change"]):
    """Select changes by their state.

    Each query names the order of the index that it needs. For a ``LIMIT`` without an order, PostgreSQL may expect
    to find enough rows anywhere in the table, and read all of it.
    """

    def pending(self) -> "ChangeQuerySet":
        """Select changes that are neither applied nor quarantined."""
        return self.filter(applied_at__isnull=True, quarantined_at__isnull=True)

    def quarantined(self) -> "ChangeQuerySet":
        """Select changes that are quarantined after repeated errors."""
        return self.filter(applied_at__isnull=True, quarantined_at__isnull=False)

    def in_order(self) -> "ChangeQuerySet":
        """Sort unapplied changes by id, with the index that is for this."""
        return self.filter(applied_at__isnull=True, id__gt=0).order_by("id")

    def of_mirror(self, mirror: str) -> "ChangeQuerySet":
        """Select the unapplied changes of one mirror, with the index that is for this."""
        return self.filter(applied_at__isnull=True, mirror=mirror).order_by("key", "created_at")


class Change(models.Model):
    """A row of the outbox: a modification of a watched row. Only triggers, repairs and rebuilds write it.

    A change with ``source`` names a row of that table. The keys that depend on it are determined when it is
    drained. The key ``outbox.changes.WHOLE`` means that any row may have changed.
    """

    id = models.BigAutoField(primary_key=True)
    mirror = models.CharField(_("mirror"), max_length=64)
    source = models.CharField(_("source"), max_length=128, db_default="")
    key = models.TextField(_("key"))
    # Strays that repair found: a JSON list of entries to remove.
    strays = models.TextField(_("strays"), db_default="")
    # The position of the spread of a source's change: the last key.
    cursor = models.TextField(_("cursor"), null=True)
    created_at = models.DateTimeField(_("created"), db_default=Now())
    applied_at = models.DateTimeField(_("applied"), null=True)
    incarnation = models.CharField(_("incarnation"), max_length=80, db_default="")
    attempts = models.SmallIntegerField(_("attempts"), db_default=0)
    quarantined_at = models.DateTimeField(_("quarantined"), null=True)
    error = models.TextField(_("error"), db_default="")

    objects = ChangeQuerySet.as_manager()

    class Meta:
        db_table = "mirror_change"
        verbose_name = _("change")
        verbose_name_plural = _("changes")
        indexes = [
            NarrowIndex(
                fields=["id"],
                condition=models.Q(applied_at__isnull=True),
                narrowed_by=models.Q(id__gt=0),
                name="mirror_change_in_order",
            ),
            NarrowIndex(
                fields=["mirror", "key", "created_at"],
                condition=models.Q(applied_at__isnull=True),
                narrowed_by=models.Q(mirror__gt=""),
                name="mirror_change_by_key",
            ),
            models.Index(
                fields=["id"],
                condition=models.Q(applied_at__isnull=True, quarantined_at__isnull=False),
                name="mirror_change_quarantined",
            ),
            models.Index(
                fields=["applied_at"],
                condition=models.Q(applied_at__isnull=False),
                name="mirror_change_applied",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.mirror} {self.source}:{self.key}" if self.source else f"{self.mirror} {self.key}"


class State(models.Model):
    """The state of one mirror: the position of its rebuild and the result of its verification."""

    mirror = models.CharField(_("mirror"), max_length=64, primary_key=True)
    # The layout that the last ``migrate`` recorded. Processes with another one neither drain nor rebuild.
    layout = models.CharField(_("layout"), max_length=64, db_default="")
    # A digest of the declaration's own methods at that time (``mirror.declare.sources``).
    methods = models.CharField(_("methods"), max_length=64, db_default="")
    rebuild_token = models.CharField(_("rebuild token"), max_length=200, db_default="")
    rebuild_cursor = models.TextField(_("rebuild cursor"), null=True)
    rebuild_rows = models.BigIntegerField(_("rows rebuilt"), db_default=0)
    verified_at = models.DateTimeField(_("last verified"), null=True)
    differences = models.BigIntegerField(_("differences found"), null=True)

    class Meta:
        db_table = "mirror_state"
        verbose_name = _("mirror")
        verbose_name_plural = _("mirrors")

    def __str__(self) -> str:
        return self.mirror


class Job(models.Model):
    """Work on one mirror that staff requested: its progress, and what it found."""

    class Kind(models.TextChoices):
        """The kinds of jobs. CHECK is a repair that changes nothing."""

        VERIFY = "verify", _("verification")
        CHECK = "check", _("dry run of a repair")
        REPAIR = "repair", _("repair")
        REBUILD = "rebuild", _("rebuild")

    FOLLOWED_SECONDS = 3600

    mirror = models.CharField(_("mirror"), max_length=64, db_index=True)
    kind = models.CharField(_("job"), max_length=10, choices=Kind)
    requested_at = models.DateTimeField(_("requested"), db_default=Now())
    started_at = models.DateTimeField(_("started"), null=True)
    ended_at = models.DateTimeField(_("ended"), null=True)
    rows = models.BigIntegerField(_("rows"), db_default=0)
    # The expected number of rows; None if it is unknown.
    total = models.BigIntegerField(_("expected rows"), null=True)
    differences = models.BigIntegerField(_("differences found"), null=True)
    # The first differences without their values, which may be personal: lists of row, kind and place.
    findings = models.JSONField(_("findings"), default=list)
    error = models.TextField(_("error"), db_default="")

    class Meta:
        db_table = "mirror_job"
        verbose_name = _("job")
        verbose_name_plural = _("jobs")

    def __str__(self) -> str:
        return f"{self.mirror}: {self.kind}"

    @property
    def is_live(self) -> bool:
        """Whether pages should follow the progress. A job without an end was lost with its relay after some time."""
        age = time.time() - moments.to_seconds(self.requested_at)
        return self.ended_at is None and age < self.FOLLOWED_SECONDS


class Identity(models.Model):
    """A single row: the identity of the database, and the incarnation of Redis that it was last mirrored to."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    uuid = models.UUIDField(_("database identity"), default=uuid.uuid4)
    incarnation = models.CharField(_("incarnation"), max_length=80, db_default="")
    # The prefix of the keys that were last mirrored to; NULL before it was noted. Keys of another one are older.
    prefix = models.CharField(_("prefix"), max_length=255, null=True)
    # Changes applied since then by an older incarnation become pending again.
    replay_from = models.DateTimeField(_("replay from"), null=True)
    # The stamps of the triggers, by name, under which no change was missed. See ``mirror.warm.triggers``.
    triggers = models.JSONField(_("triggers"), null=True)

    class Meta:
        db_table = "mirror_identity"
        verbose_name = _("database identity")
        verbose_name_plural = _("database identity")
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="mirror_identity_one_row")]

    def __str__(self) -> str:
        return str(self.uuid)
