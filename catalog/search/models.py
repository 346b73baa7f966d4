"""The index of search in SQL. ``catalog.search.store`` derives all of it from the rows of other tables."""

from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _


class Document(models.Model):
    """A result that search can find. Its id is the letter of its kind followed by the id of its row."""

    id = models.CharField(max_length=40, primary_key=True)
    text = models.TextField(_("text"), blank=True)  # the name, if the lists contain it
    weight = models.BigIntegerField(_("weight"))
    keys = models.JSONField(_("keys"))  # of the lists that contain it

    class Meta:
        verbose_name = _("document")
        verbose_name_plural = _("documents")

    def __str__(self) -> str:
        return self.id


class Term(models.Model):
    """A word of the vocabulary. Its weight is that of its heaviest document."""

    text = models.CharField(max_length=40, primary_key=True)
    weight = models.BigIntegerField(_("weight"))

    class Meta:
        verbose_name = _("term")
        verbose_name_plural = _("terms")

    def __str__(self) -> str:
        return self.text


class Posting(models.Model):
    """A member of a list: a document or a term."""

    key = models.CharField(max_length=100)
    member = models.CharField(max_length=360)
    weight = models.BigIntegerField()

    objects: "models.Manager[Any]" = models.Manager()

    class Meta:
        verbose_name = _("posting")
        verbose_name_plural = _("postings")
        indexes = [models.Index(fields=["key", "-weight"], name="search_posting_best")]
        constraints = [models.UniqueConstraint(fields=["member", "key"], name="search_posting_once")]

    def __str__(self) -> str:
        return f"{self.key} {self.member}"
