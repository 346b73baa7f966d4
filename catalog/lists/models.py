"""Models of readers' own lists."""

from typing import Final

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from catalog.models import Book
from catalog.shelves.models import Privacy

MAX_LISTS: Final = 200  # of one reader
MAX_BOOKS: Final = 5000  # on one list
MAX_NAME_LENGTH: Final = 100
MAX_DESCRIPTION_LENGTH: Final = 1000


class Order(models.TextChoices):
    """The order in which a list shows its books."""

    HAND = "hand", _("My own order")
    ADDED = "added", _("Last added first")


class ReadingList(models.Model):
    """A list of books that a reader made. A book may be on many of them."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("reader"), on_delete=models.CASCADE, related_name="+"
    )
    name = models.CharField(_("name"), max_length=MAX_NAME_LENGTH)
    description = models.TextField(_("description"), blank=True)
    privacy = models.CharField(_("visible to"), max_length=9, choices=Privacy, default=Privacy.PUBLIC)
    order = models.CharField(pgettext_lazy("of a list", "order"), max_length=5, choices=Order, default=Order.HAND)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("list of books")
        verbose_name_plural = _("lists of books")
        # For the admin, which shows the public ones.
        indexes = [models.Index(fields=["-id"], name="lists_public", condition=models.Q(privacy=Privacy.PUBLIC))]

    def __str__(self) -> str:
        return self.name


class ListedBook(models.Model):
    """A book on a reader's list. The order of the primary keys is that in which the books were added."""

    # Without an index of its own, because that of the constraint begins with it.
    reading_list = models.ForeignKey(
        ReadingList, verbose_name=_("list"), on_delete=models.CASCADE, related_name="books", db_index=False
    )
    book = models.ForeignKey(Book, verbose_name=_("book"), on_delete=models.CASCADE, related_name="+")
    # Positions have gaps, so that a move changes one row.
    position = models.BigIntegerField(_("position"))
    added_on = models.DateField(_("added on"))

    class Meta:
        verbose_name = _("book on a list")
        verbose_name_plural = _("books on lists")
        constraints = [models.UniqueConstraint(fields=["reading_list", "book"], name="lists_book_once")]
        indexes = [models.Index(fields=["reading_list", "position"], name="lists_by_position")]

    def __str__(self) -> str:
        return f"{self.reading_list_id}: {self.book_id}"
