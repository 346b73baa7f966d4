"""The model of follows of authors."""

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from catalog.models import Author


class AuthorFollow(models.Model):
    """A reader follows an author. Nobody else sees it; the page of the author shows the number of followers."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("reader"), on_delete=models.CASCADE, related_name="+", db_index=False
    )
    author = models.ForeignKey(
        Author, verbose_name=_("author"), on_delete=models.CASCADE, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        verbose_name = _("followed author")
        verbose_name_plural = _("followed authors")
        constraints = [models.UniqueConstraint(fields=["user", "author"], name="following_once")]
        indexes = [models.Index(fields=["author", "user"], name="following_followers")]

    def __str__(self) -> str:
        return f"{self.user_id} → {self.author_id}"
