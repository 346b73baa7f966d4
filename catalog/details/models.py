"""The details of a book, in a table of their own: lists of books need none of them."""

from typing import Final

from django.db import models
from django.utils.translation import gettext_lazy as _

from catalog.models import Author, Book

MAX_DESCRIPTION_LENGTH: Final = 5000
MAX_PUBLISHER_LENGTH: Final = 200


class Format(models.TextChoices):
    """The form in which a book is published."""

    HARDCOVER = "hardcover", _("Hardcover")
    PAPERBACK = "paperback", _("Paperback")
    EBOOK = "ebook", _("E-book")
    AUDIOBOOK = "audiobook", _("Audiobook")


class BookDetails(models.Model):
    """The details of a book. Translators and illustrators are no authors: neither lists nor search name them so."""

    book = models.OneToOneField(Book, models.CASCADE, primary_key=True, verbose_name=_("book"), related_name="details")
    description = models.TextField(_("description"), max_length=MAX_DESCRIPTION_LENGTH, blank=True)
    publisher = models.CharField(_("publisher"), max_length=MAX_PUBLISHER_LENGTH, blank=True)
    format = models.CharField(_("format"), max_length=9, choices=Format, blank=True)
    translators = models.ManyToManyField(Author, verbose_name=_("translators"), related_name="+", blank=True)
    illustrators = models.ManyToManyField(Author, verbose_name=_("illustrators"), related_name="+", blank=True)

    class Meta:
        verbose_name = _("details of a book")
        verbose_name_plural = _("details of books")

    def __str__(self) -> str:
        return str(self.book_id)
