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
NO_DATE: Final = date(1, 1, 1)  # sorts before every date that a reader may enter


class Shelf(models.TextChoices):
    """The shelves that every reader has."""

    WANT = "want-to-read", pgettext_lazy("shelf", "Want to read")
    READING = "reading", pgettext_lazy("shelf", "Reading")
    READ = "read", pgettext_lazy("shelf", "Read")


class Privacy(models.TextChoices):
    """The audience of a shelf."""

    PUBLIC = "public", _("Everyone")
    FOLLOWERS = "followers", _("My followers")
    ME = "me", _("Only me")


def _build_sort_date() -> Case:
    """Return the expression for the date that a shelf is sorted by."""
    return Case(
        When(shelf=Shelf.READING, then=Coalesce("started_on", Value(NO_DATE))),
        When(shelf=Shelf.READ, then=Coalesce("finished_on", Value(NO_DATE))),
        default=F("shelved_on"),
    )


class ShelfEntry(models.Model):
    """A book on a reader's shelf, with the reader's rating."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("reader"), on_delete=models.CASCADE, related_name="+", db_index=False
    )
    book = models.ForeignKey("catalog.Book", verbose_name=_("book"), on_delete=models.CASCADE, related_name="+")
    shelf = models.CharField(_("shelf"), max_length=12, choices=Shelf)
    # In halves of a star.
    stars = models.PositiveSmallIntegerField(_("stars"), null=True, blank=True)
    shelved_on = models.DateField(_("shelved on"))
    started_on = models.DateField(_("started on"), null=True, blank=True)
    finished_on = models.DateField(_("finished on"), null=True, blank=True)
    # The database generates the column, so that no write can leave it stale.
    sort_on = models.GeneratedField(expression=_build_sort_date(), output_field=DateField(), db_persist=True)

    class Meta:
        verbose_name = _("book on a shelf")
        verbose_name_plural = _("books on shelves")
        constraints = [
            models.UniqueConstraint(fields=["user", "book"], name="catalog_shelved_once"),
            models.CheckConstraint(condition=Q(stars=None) | Q(stars__range=(1, 10)), name="catalog_shelved_stars"),
            models.CheckConstraint(
                condition=Q(started_on=None) | Q(finished_on=None) | Q(started_on__lte=F("finished_on")),
                name="catalog_shelved_dates",
            ),
        ]
        indexes = [models.Index(fields=["user", "shelf", "-sort_on", "-book"], name="catalog_shelf_newest")]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.book_id} ({self.shelf})"


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
