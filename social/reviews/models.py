"""The model of reviews."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from catalog.models import Book
from social.models import Post


class Review(models.Model):
    """A reader's review of a book, or only the rating if the text is empty. Its post shows it.

    Likes, replies, former versions and the content note are those of the post, and the stars are those of the book on
    the reader's shelf.
    """

    post = models.OneToOneField(
        Post, verbose_name=_("post"), on_delete=models.CASCADE, primary_key=True, related_name="review"
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("reader"), on_delete=models.CASCADE, related_name="+", db_index=False
    )
    # Like its post, a review outlives its book.
    book = models.ForeignKey(
        Book,
        verbose_name=_("book"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
    )
    text = models.TextField(_("text"), blank=True)  # Markdown
    language = models.CharField(_("language"), max_length=10, blank=True)

    class Meta:
        verbose_name = _("review")
        verbose_name_plural = _("reviews")
        constraints = [models.UniqueConstraint(fields=["user", "book"], name="reviews_review_once")]
        indexes = [
            models.Index(fields=["book", "-post"], name="reviews_of_book"),
            models.Index(fields=["post"], condition=~models.Q(text=""), name="reviews_with_text"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.book_id}"
