"""The login log in SQL: the same bitmaps as in Redis, which has them first (``loginlog.backups``).

A bitmap is in the order of Redis: bit 0 is the highest of the first byte.
"""

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


class Number(models.Model):
    """A dense number for each user who ever logged in: their place in the bitmaps of days.

    Numbers are never given to anybody else: the row stays when the user goes.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        verbose_name=_("user"),
        on_delete=models.SET_NULL,
        null=True,
        related_name="login_number",
    )

    class Meta:
        verbose_name = _("number in the login log")
        verbose_name_plural = _("numbers in the login log")

    def __str__(self) -> str:
        return str(self.pk)


class MonthBits(models.Model):
    """On which days of a month a user logged in, as a user of one type."""

    number = models.ForeignKey(Number, verbose_name=_("user's number"), on_delete=models.CASCADE, related_name="months")
    user_type = models.CharField(pgettext_lazy("of a user", "type"), max_length=20)
    month = models.DateField(_("month"), help_text=_("its first day"))
    # The four bytes of Redis' bitmap as one number; bit 0 is never set, so that it has 31 bits.
    bits = models.PositiveIntegerField(_("bits"), default=0)

    class Meta:
        verbose_name = _("month of a user")
        verbose_name_plural = _("months of users")
        constraints = [
            models.UniqueConstraint(fields=["number", "month", "user_type"], name="loginlog_month_of_user"),
        ]
        indexes = [models.Index(fields=["month", "user_type", "number"], name="loginlog_months")]

    def __str__(self) -> str:
        return f"{self.month:%Y-%m} {self.user_type} {self.number_id}"


class DayBits(models.Model):
    """Who logged in on a day as a user of one type: 65,536 numbers, without the zeros at the end."""

    day = models.DateField(_("day"))
    user_type = models.CharField(pgettext_lazy("of a user", "type"), max_length=20)
    segment = models.PositiveIntegerField(_("segment"))
    bits = models.BinaryField(_("bits"), default=b"")

    class Meta:
        verbose_name = _("day of all users")
        verbose_name_plural = _("days of all users")
        permissions = [("view_report", _("Can view the login report"))]
        constraints = [
            models.UniqueConstraint(fields=["day", "user_type", "segment"], name="loginlog_segment_of_day"),
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.user_type} {self.segment}"


class Erased(models.Model):
    """A number whose bits must never come back, from wherever they are merged."""

    number = models.OneToOneField(Number, verbose_name=_("number"), on_delete=models.PROTECT, primary_key=True)
    # Redis' keys bear the user's id. Null: Redis has nothing of this number any more.
    user_pk = models.BigIntegerField(_("id of the user, until Redis is clean"), null=True)
    erased_at = models.DateTimeField(_("erased"), default=timezone.now)

    class Meta:
        verbose_name = _("erased number")
        verbose_name_plural = _("erased numbers")

    def __str__(self) -> str:
        return str(self.number_id)


class UnmarkedQuerySet(models.QuerySet["Unmarked"]):
    def in_force(self) -> "UnmarkedQuerySet":
        """Return the days that were not marked again."""
        return self.filter(is_lifted=False)


class Unmarked(models.Model):
    """A day on which a user's login was removed. A bit of an older copy must not come back; a later mark lifts this.

    The primary key orders the removals of one day: scripts in Redis refuse an older one.
    """

    number = models.ForeignKey(
        Number, verbose_name=_("user's number"), on_delete=models.CASCADE, related_name="unmarked_days"
    )
    day = models.DateField(_("day"))
    is_lifted = models.BooleanField(_("marked again"), default=False)
    is_in_redis = models.BooleanField(_("removed from Redis"), default=False)

    objects = UnmarkedQuerySet.as_manager()

    class Meta:
        verbose_name = _("removed login")
        verbose_name_plural = _("removed logins")
        constraints = [models.UniqueConstraint(fields=["day", "number"], name="loginlog_unmarked_day")]

    def __str__(self) -> str:
        return f"{self.number_id} {self.day}"


class Owed(models.Model):
    """A bitmap that was written to SQL because Redis was away, and that Redis has to get."""

    item = models.CharField(_("bitmap"), max_length=100)

    class Meta:
        verbose_name = _("bitmap owed to Redis")
        verbose_name_plural = _("bitmaps owed to Redis")

    def __str__(self) -> str:
        return self.item
