"""The model of wishes. Only SQL has them, because few people read them."""

from typing import Final

from django.conf import settings
from django.db import models
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

MAX_TITLE_LENGTH: Final = 300
MAX_NOTE_LENGTH: Final = 500


class State(models.TextChoices):
    """What staff decided about a wish."""

    OPEN = "open", _("open")
    FULFILLED = "fulfilled", _("fulfilled")
    DECLINED = "declined", _("declined")


class BookWish(models.Model):
    """A book that a reader asked for."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("reader"), on_delete=models.CASCADE, related_name="+"
    )
    title = models.CharField(_("title"), max_length=MAX_TITLE_LENGTH)
    note = models.CharField(_("author, ISBN or other details"), max_length=MAX_NOTE_LENGTH, blank=True)
    state = models.CharField(_("state"), max_length=9, choices=State, default=State.OPEN)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("wish for a book")
        verbose_name_plural = _("wishes for books")
        constraints = [models.UniqueConstraint("user", Lower("title"), name="wishes_once_any_case")]
        indexes = [
            models.Index(fields=["state", "-id"], name="wishes_by_state"),
            models.Index(Lower("title"), name="wishes_by_title"),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def is_fulfilled(self) -> bool:
        """Whether the shop has the book now."""
        return self.state == State.FULFILLED
