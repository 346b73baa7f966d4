"""Views of books, which the consumer of visits writes (``shop.visits``)."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from catalog.models import Book


class View(models.Model):
    """A view of a book's page, counted once per half hour and kept for a limited time (``shop.book_views.retention``).

    id: the number of the view's entry in the stream of visits, so that no view is written twice; imported views have
    small ids. visitor: the digest of the session's token, or a stand-in for visitors without a session.
    """

    visitor = models.CharField(_("visitor"), max_length=64)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("user"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="book_views",
        db_index=False,
    )
    book = models.ForeignKey(
        Book, verbose_name=_("book"), on_delete=models.CASCADE, related_name="views", db_index=False
    )
    seen_at = models.DateTimeField(_("seen"), default=timezone.now, db_index=True)

    class Meta:
        verbose_name = _("view")
        verbose_name_plural = _("views")
        constraints = [
            models.UniqueConstraint(fields=["visitor", "seen_at", "book"], name="shop_view_once"),
        ]
        indexes = [
            models.Index(fields=["book", "seen_at"], name="shop_view_of_book"),
            models.Index(fields=["user", "book", "seen_at"], name="shop_view_by_user"),
            models.Index(fields=["seen_at"], name="shop_view_of_strangers", condition=Q(user=None)),
        ]

    def __str__(self) -> str:
        return f"{self.visitor[:12]}: {self.book_id}"
