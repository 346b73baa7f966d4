"""Notifications, the choice of each reader how to get them, and what was sent by email."""

from django.conf import settings
from django.db import models
from django.db.models import ExpressionWrapper, F, Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


class Way(models.TextChoices):
    """How a reader gets notifications of a kind. Those by email are on the site as well."""

    SITE = "site", _("On the site")
    EMAIL = "email", _("Also by email")
    WEEKLY = "weekly", _("Also in a weekly email")
    OFF = "off", pgettext_lazy("notifications", "Off")


class Notification(models.Model):
    """A group of facts of one kind: "Ann and 3 others liked your post".

    The mirrors of the kinds (``NotificationTable``) write all columns except ``read_at`` and ``mailed_at``, which are
    the newest ``last_at`` that the reader has seen on the site, and that an email had.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("reader"), on_delete=models.CASCADE, related_name="+", db_index=False
    )
    kind = models.CharField(_("kind"), max_length=20)
    key = models.CharField(_("key"), max_length=60)  # of the mirror of its kind
    target = models.BigIntegerField(_("target"), default=0)  # the id of what it is about (a post, an order)
    count = models.PositiveIntegerField(_("readers"), default=0)
    actors = models.CharField(_("newest readers"), max_length=70, blank=True)  # ids, the newest first, between blanks
    last_at = models.DateTimeField(_("latest"))
    read_at = models.DateTimeField(_("read up to"), null=True, blank=True)
    mailed_at = models.DateTimeField(_("sent up to"), null=True, blank=True)
    way = models.CharField(pgettext_lazy("a notification", "sent"), max_length=6, choices=Way, default=Way.SITE)
    # The database generates the column, so that no write can leave it stale.
    is_unread = models.GeneratedField(
        expression=ExpressionWrapper(Q(read_at=None) | Q(read_at__lt=F("last_at")), models.BooleanField()),
        output_field=models.BooleanField(),
        db_persist=True,
    )

    class Meta:
        verbose_name = _("notification")
        verbose_name_plural = _("notifications")
        constraints = [models.UniqueConstraint(fields=["kind", "key"], name="notifications_once")]
        indexes = [
            models.Index(fields=["user", "-last_at", "-id"], name="notifications_of_user"),
            models.Index(fields=["last_at"], name="notifications_by_time"),
            models.Index(
                fields=["way", "user"], name="notifications_to_send", condition=Q(way__in=[Way.EMAIL, Way.WEEKLY])
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.kind} {self.key}"


class Preference(models.Model):
    """How a reader gets notifications of one kind, if not in its default way."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("reader"), on_delete=models.CASCADE, related_name="+", db_index=False
    )
    kind = models.CharField(_("kind"), max_length=20)
    way = models.CharField(pgettext_lazy("a notification", "sent"), max_length=6, choices=Way)

    class Meta:
        verbose_name = _("preference")
        verbose_name_plural = _("preferences")
        constraints = [models.UniqueConstraint(fields=["user", "kind"], name="notifications_preference_once")]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.kind} {self.way}"


class Mailing(models.Model):
    """The emails of one way to a reader: when the last one was sent, and which worker sends one now."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("reader"), on_delete=models.CASCADE, related_name="+", db_index=False
    )
    way = models.CharField(pgettext_lazy("a notification", "sent"), max_length=6, choices=Way)
    sent_at = models.DateTimeField(_("last email"), null=True)
    claimed_until = models.DateTimeField(_("claimed until"), null=True)  # by the worker that sends an email

    class Meta:
        verbose_name = _("mailing")
        verbose_name_plural = _("mailings")
        constraints = [models.UniqueConstraint(fields=["user", "way"], name="notifications_mailing_once")]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.way}"
