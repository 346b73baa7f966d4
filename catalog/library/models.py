"""Models of imports. Their rows keep the content of the file, the found book, and the changes."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from catalog.models import Book


class State(models.TextChoices):
    """The states of an import. A worker continues those that work is left for."""

    LOADING = "loading", _("uploading")
    MATCHING = "matching", _("looking for the books")
    READY = "ready", _("ready")
    APPLYING = "applying", _("importing")
    DONE = "done", _("imported")
    UNDOING = "undoing", _("undoing")
    UNDONE = "undone", _("undone")


WORKING = (State.MATCHING, State.APPLYING, State.UNDOING)
# A reader has at most one import in these states.
OPEN = (State.LOADING, *WORKING)


class Step(models.TextChoices):
    """How far a row has come."""

    PENDING = "pending", _("waiting")
    FOUND = "found", _("found")
    DOUBT = "doubt", _("in doubt")
    MISSING = "missing", _("missing")
    APPLIED = "applied", _("imported")
    UNDONE = "undone", _("undone")


class LibraryImport(models.Model):
    """A file with a reader's library."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("reader"), on_delete=models.CASCADE, related_name="+"
    )
    service = models.CharField(_("service"), max_length=12)
    file_name = models.CharField(_("file"), max_length=100)
    state = models.CharField(_("state"), max_length=8, choices=State, default=State.LOADING)
    total = models.PositiveIntegerField(_("rows"), default=0)
    # The lists that the import made. An undo deletes those that are empty then.
    lists = models.JSONField(_("lists"), default=list)
    # What the file tells of shelves and lists (``catalog.library.formats.own``).
    details = models.JSONField(_("details"), default=dict, db_default=models.Value({}, models.JSONField()))
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("import of a library")
        verbose_name_plural = _("imports of libraries")
        constraints = [
            models.UniqueConstraint(fields=["user"], condition=Q(state__in=OPEN), name="library_one_open_import")
        ]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.service} ({self.state})"

    @property
    def is_working(self) -> bool:
        """Whether a worker has to continue it."""
        return self.state in WORKING


class ImportRow(models.Model):
    """A row of the file. raw: its known columns. candidates: ids of books among which the reader chooses.

    changes: what the import changed for this row (``catalog.library.changes``), so that an undo changes only that.
    """

    library_import = models.ForeignKey(
        LibraryImport, verbose_name=_("import"), on_delete=models.CASCADE, related_name="rows", db_index=False
    )
    number = models.PositiveIntegerField(_("number"))
    raw = models.JSONField(_("cells"))
    step = models.CharField(_("step"), max_length=7, choices=Step, default=Step.PENDING)
    book = models.ForeignKey(
        Book, verbose_name=_("book"), on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    candidates: "models.JSONField[Any, Any]" = models.JSONField(_("candidates"), default=list)
    changes: "models.JSONField[Any, Any]" = models.JSONField(_("changes"), default=dict)

    class Meta:
        verbose_name = _("row of an import")
        verbose_name_plural = _("rows of imports")
        constraints = [models.UniqueConstraint(fields=["library_import", "number"], name="library_row_once")]
        # Each step of a worker takes the first rows of one kind.
        indexes = [models.Index(fields=["library_import", "step", "number"], name="library_next_rows")]

    def __str__(self) -> str:
        return f"{self.library_import_id}: {self.number} ({self.step})"
