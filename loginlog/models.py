"""The login log in SQL: the same bitmaps as in Redis, which gets them first (``loginlog.backups``).

Bitmaps have Redis' bit order: bit 0 is the highest bit of the first byte.
"""

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


class Number(models.Model):
    """The dense id of a user: the position of the user's bit in the day bitmaps. The first login creates it.

    A dense id is never reused. Its row stays when the user is deleted.
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
    """The login month of a user: the days with a login as a user of one type."""

    number = models.ForeignKey(Number, verbose_name=_("user's number"), on_delete=models.CASCADE, related_name="months")
    user_type = models.CharField(pgettext_lazy("of a user", "type"), max_length=20)
    month = models.DateField(_("month"), help_text=_("its first day"))
    # The four bytes of Redis' bitmap as one number. Bit 0 is never set, so the number has 31 bits.
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
    """A segment of a login day: a bit for each of 65,536 dense ids, for users of one type, without trailing zeros."""

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
    """The tombstone of an erased dense id. No merge brings its bits back."""

    number = models.OneToOneField(Number, verbose_name=_("number"), on_delete=models.PROTECT, primary_key=True)
    # Keys in Redis contain the user's id. Null: Redis has no bits of this dense id left.
    user_pk = models.BigIntegerField(_("id of the user, until Redis is clean"), null=True)
    erased_at = models.DateTimeField(_("erased"), default=timezone.now)

    class Meta:
        verbose_name = _("erased number")
        verbose_name_plural = _("erased numbers")

    def __str__(self) -> str:
        return str(self.number_id)


class UnmarkedQuerySet(models.QuerySet["Unmarked"]):
    def in_force(self) -> "UnmarkedQuerySet":
        """Return the removals whose day was not marked again."""
        return self.filter(is_lifted=False)


class Unmarked(models.Model):
    """The tombstone of a removed login, which keeps bits of older copies out. A later mark of the day lifts it.

    The primary key orders the removals of one day; scripts in Redis refuse an older one.
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
    """A bitmap that was written to SQL while Redis was away, and that Redis still lacks."""

    item = models.CharField(_("bitmap"), max_length=100)

    class Meta:
        verbose_name = _("bitmap owed to Redis")
        verbose_name_plural = _("bitmaps owed to Redis")

    def __str__(self) -> str:
        return self.item
