"""Models of readers' shelves, their privacy, and reading goals."""

from datetime import date
from typing import Final

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Case, DateField, F, Q, Value, When
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

# Ratings in halves of a star, which are exact on every database: 7 is 3.5 stars.
STARS: Final = range(1, 11)
MAX_GOAL_BOOKS: Final = 10_000  # books a year
MAX_PAGES: Final = 50_000  # of a book
MAX_NOTE_LENGTH: Final = 280  # letters
NO_DATE: Final = date(1, 1, 1)  # sorts before every date that a reader may enter


class Shelf(models.TextChoices):
    """The shelves that every reader has."""

    WANT = "want-to-read", pgettext_lazy("shelf", "Want to read")
    READING = "reading", pgettext_lazy("shelf", "Reading")
    READ = "read", pgettext_lazy("shelf", "Read")
    ABANDONED = "did-not-finish", pgettext_lazy("shelf", "Did not finish")


# A reading of a book on these shelves has ended.
ENDED_SHELVES: Final = (Shelf.READ, Shelf.ABANDONED)


class Precision(models.TextChoices):
    """What a reader knows of the date on which a reading ended. A year is stored as its last day."""

    DAY = "day", _("Day")
    YEAR = "year", _("Year")


class Privacy(models.TextChoices):
    """The audience of a shelf."""

    PUBLIC = "public", _("Everyone")
    FOLLOWERS = "followers", _("My followers")
    ME = "me", _("Only me")


def _build_sort_date() -> Case:
    """Return the expression for the date that a shelf is sorted by."""
    return Case(
        When(shelf=Shelf.READING, then=Coalesce("started_on", Value(NO_DATE))),
        When(shelf__in=ENDED_SHELVES, then=Coalesce("finished_on", Value(NO_DATE))),
        default=F("shelved_on"),
    )


def _are_dates_in_order() -> Q:
    """Return the condition that a reading does not end before its start."""
    return Q(started_on=None) | Q(finished_on=None) | Q(started_on__lte=F("finished_on"))


class ShelfEntry(models.Model):
    """A book on a reader's shelf, with the reader's rating and the dates of the present or latest reading."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("reader"), on_delete=models.CASCADE, related_name="+", db_index=False
    )
    book = models.ForeignKey("catalog.Book", verbose_name=_("book"), on_delete=models.CASCADE, related_name="+")
    shelf = models.CharField(_("shelf"), max_length=14, choices=Shelf)
    # In halves of a star.
    stars = models.PositiveSmallIntegerField(_("stars"), null=True, blank=True)
    shelved_on = models.DateField(_("shelved on"))
    started_on = models.DateField(_("started on"), null=True, blank=True)
    # The end of the reading, also of one that was given up.
    finished_on = models.DateField(_("finished on"), null=True, blank=True)
    finished_precision = models.CharField(
        _("precision of the finish date"), max_length=4, choices=Precision, default=Precision.DAY, db_default="day"
    )
    # Of the reader's own edition, if it has another number of pages than the book.
    pages = models.PositiveIntegerField(_("pages"), null=True, blank=True)
    # The database generates the column, so that no write can leave it stale.
    sort_on = models.GeneratedField(expression=_build_sort_date(), output_field=DateField(), db_persist=True)

    class Meta:
        verbose_name = _("book on a shelf")
        verbose_name_plural = _("books on shelves")
        constraints = [
            models.UniqueConstraint(fields=["user", "book"], name="catalog_shelved_once"),
            models.CheckConstraint(condition=Q(stars=None) | Q(stars__range=(1, 10)), name="catalog_shelved_stars"),
            models.CheckConstraint(condition=_are_dates_in_order(), name="catalog_shelved_dates"),
        ]
        indexes = [models.Index(fields=["user", "shelf", "-sort_on", "-book"], name="catalog_shelf_newest")]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.book_id} ({self.shelf})"


class EarlierReading(models.Model):
    """A reading of a book on a reader's shelf before the present or latest one, whose dates the entry has.

    It names reader and book instead of the entry, so that mirrors capture its changes under the key of the entry.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("reader"), on_delete=models.CASCADE, related_name="+", db_index=False
    )
    book = models.ForeignKey("catalog.Book", verbose_name=_("book"), on_delete=models.CASCADE, related_name="+")
    started_on = models.DateField(_("started on"), null=True, blank=True)
    finished_on = models.DateField(_("finished on"), null=True, blank=True)
    finished_precision = models.CharField(
        _("precision of the finish date"), max_length=4, choices=Precision, default=Precision.DAY
    )
    # False: the reader gave it up.
    is_finished = models.BooleanField(_("finished"), default=True)

    class Meta:
        verbose_name = _("earlier reading")
        verbose_name_plural = _("earlier readings")
        constraints = [models.CheckConstraint(condition=_are_dates_in_order(), name="catalog_reading_dates")]
        indexes = [
            models.Index(fields=["user", "book"], name="catalog_reading_of_book"),
            models.Index(fields=["user", "finished_on"], name="catalog_reading_finished"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.book_id} ({self.finished_on})"


class ReadingProgress(models.Model):
    """How far a reader had come in a book on a day: a page or percents, and a note."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("reader"), on_delete=models.CASCADE, related_name="+", db_index=False
    )
    book = models.ForeignKey("catalog.Book", verbose_name=_("book"), on_delete=models.CASCADE, related_name="+")
    # Empty for the present or latest reading.
    reading = models.ForeignKey(
        EarlierReading, verbose_name=_("earlier reading"), on_delete=models.CASCADE, null=True, related_name="progress"
    )
    noted_on = models.DateField(_("noted on"))
    page = models.PositiveIntegerField(_("page"), null=True, blank=True)
    percent = models.PositiveSmallIntegerField(_("percent"), null=True, blank=True)
    note = models.CharField(_("note"), max_length=MAX_NOTE_LENGTH, blank=True)

    class Meta:
        verbose_name = _("reading progress")
        verbose_name_plural = _("reading progress")
        constraints = [
            models.CheckConstraint(
                condition=Q(page__range=(0, MAX_PAGES), percent=None) | Q(page=None, percent__range=(0, 100)),
                name="catalog_progress_once",
            )
        ]
        indexes = [models.Index(fields=["user", "book", "-id"], name="catalog_progress_newest")]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.book_id} ({self.noted_on})"


class ShelfSettings(models.Model):
    """The privacy of a reader's shelves. Without a row all of them are public."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        verbose_name=_("reader"),
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="+",
    )
    want_privacy = models.CharField(max_length=9, choices=Privacy, default=Privacy.PUBLIC)
    reading_privacy = models.CharField(max_length=9, choices=Privacy, default=Privacy.PUBLIC)
    read_privacy = models.CharField(max_length=9, choices=Privacy, default=Privacy.PUBLIC)
    abandoned_privacy = models.CharField(
        max_length=9, choices=Privacy, default=Privacy.PUBLIC, db_default=Privacy.PUBLIC.value
    )

    class Meta:
        verbose_name = _("shelf settings")
        verbose_name_plural = _("shelf settings")

    def __str__(self) -> str:
        return str(self.pk)


# The columns of ShelfSettings with the privacy of each shelf.
PRIVACY_FIELDS: Final = {
    Shelf.WANT: "want_privacy",
    Shelf.READING: "reading_privacy",
    Shelf.READ: "read_privacy",
    Shelf.ABANDONED: "abandoned_privacy",
}


class ReadingGoal(models.Model):
    """The number of books that a reader plans to read in a year."""

    reader = models.ForeignKey(ShelfSettings, verbose_name=_("reader"), on_delete=models.CASCADE, related_name="goals")
    year = models.PositiveSmallIntegerField(_("year"))
    books = models.PositiveSmallIntegerField(
        _("books"), validators=[MinValueValidator(1), MaxValueValidator(MAX_GOAL_BOOKS)]
    )

    class Meta:
        verbose_name = _("reading goal")
        verbose_name_plural = _("reading goals")
        constraints = [
            models.UniqueConstraint(fields=["reader", "year"], name="catalog_goal_once"),
            models.CheckConstraint(condition=Q(books__range=(1, MAX_GOAL_BOOKS)), name="catalog_goal_possible"),
        ]

    def __str__(self) -> str:
        return f"{self.reader_id}: {self.books} ({self.year})"
