"""Books, authors and tags. SQL is where they are true."""

from typing import Any

from django.db import models
from django.db.models.functions import Lower
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from catalog.names import normalise


class TagNameField(models.CharField):
    """Text that is normalised on every way into SQL: save, bulk_create, update and lookups alike."""

    def get_prep_value(self, value: Any) -> Any:
        value = super().get_prep_value(value)
        return normalise(value) if isinstance(value, str) else value

    def to_python(self, value: Any) -> Any:
        value = super().to_python(value)
        return normalise(value) if isinstance(value, str) else value


class NamedManager(models.Manager[Any]):
    """For models whose rows are known by their names: fixtures need not say primary keys."""

    def get_by_natural_key(self, name: str) -> Any:
        """The row called ``name``. Raises DoesNotExist."""
        return self.get(name=name)


class Author(models.Model):
    """Who wrote a book."""

    name = models.CharField(_("name"), max_length=300, unique=True)

    objects = NamedManager()

    class Meta:
        verbose_name = _("author")
        verbose_name_plural = _("authors")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def natural_key(self) -> tuple[str]:
        """What fixtures know it by."""
        return (self.name,)


class Tag(models.Model):
    """A word that readers put on books. Its name is normalised: "Sci-Fi" and "sci-fi" are one tag."""

    name = TagNameField(_("name"), max_length=200, unique=True)

    objects = NamedManager()

    class Meta:
        verbose_name = _("tag")
        verbose_name_plural = _("tags")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def natural_key(self) -> tuple[str]:
        """What fixtures know it by."""
        return (self.name,)


class Book(models.Model):
    """A book that can be found, and later bought."""

    title = models.CharField(_("title"), max_length=500)
    # What titles are sorted by. Made by the database, so that no way of writing can leave it stale.
    sort_title = models.GeneratedField(
        expression=Lower("title"), output_field=models.CharField(max_length=500), db_persist=True
    )
    authors = models.ManyToManyField(Author, verbose_name=_("authors"), related_name="books", blank=True)
    tags = models.ManyToManyField(Tag, verbose_name=_("tags"), related_name="books", blank=True)
    year = models.SmallIntegerField(
        _("year"), null=True, blank=True, help_text=_("Of first publication; below zero is BC.")
    )
    language = models.CharField(_("language"), max_length=10, blank=True, db_default="")
    isbn = models.CharField(_("ISBN"), max_length=13, blank=True, db_default="")
    popularity = models.PositiveBigIntegerField(
        _("popularity"), default=0, db_default=0, help_text=_("How many readers have rated it.")
    )
    rating = models.DecimalField(
        _("rating"), max_digits=3, decimal_places=2, null=True, blank=True, help_text=_("Mean, 1 to 5.")
    )
    # The number that the goodbooks files know the book by; empty for books of the shop's own.
    goodreads_id = models.BigIntegerField(_("Goodreads number"), null=True, blank=True, unique=True)

    class Meta:
        verbose_name = _("book")
        verbose_name_plural = _("books")
        ordering = ["-popularity", "id"]
        indexes = [
            models.Index(fields=["-popularity", "id"], name="catalog_book_popular"),
            models.Index(fields=["-year", "id"], name="catalog_book_newest"),
            models.Index(fields=["sort_title", "id"], name="catalog_book_title"),
        ]
        constraints = [
            models.CheckConstraint(condition=~models.Q(title=""), name="catalog_book_has_title"),
        ]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        """The book's own page."""
        return reverse("catalog:book", args=[self.pk])
