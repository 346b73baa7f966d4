"""The genres that readers have chosen."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from catalog.models import Tag


class ChosenGenre(models.Model):
    """A tag that a reader has chosen as a genre. Suggestions follow from it, and nobody else sees it."""

    # Without an index of its own, because that of the constraint begins with it.
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("reader"), on_delete=models.CASCADE, related_name="+", db_index=False
    )
    tag = models.ForeignKey(Tag, verbose_name=_("tag"), on_delete=models.CASCADE, related_name="+")

    class Meta:
        verbose_name = _("chosen genre")
        verbose_name_plural = _("chosen genres")
        constraints = [models.UniqueConstraint(fields=["user", "tag"], name="welcome_genre_once")]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.tag_id}"
