"""The login log in SQL: dense ids of users, and for each user, month and type the days with a login."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


class Number(models.Model):
    """The dense id of a user: the position of the user's bit in the bitmaps of days. The first login creates it.

    It never changes, and is never used again. The row keeps the id of a deleted user until Redis has no bit of the
    user (``loginlog.storage.synchronization``).
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        verbose_name=_("user"),
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        null=True,
        related_name="login_number",
    )

    class Meta:
        verbose_name = _("number in the login log")
        verbose_name_plural = _("numbers in the login log")

    def __str__(self) -> str:
        return str(self.pk)


class LoginMonthQuerySet(models.QuerySet["LoginMonth"]):
    def with_logins(self) -> "LoginMonthQuerySet":
        """Return the months of which at least one login was not removed."""
        return self.exclude(bits=0)


class LoginMonth(models.Model):
    """The days of a month on which a user logged in as a user of one type. Redis has them as bitmaps.

    name: the key in Redis without its prefix, "2017-10_client_1001" (``loginlog.names``).
    """

    name = models.CharField(_("name"), max_length=50, primary_key=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("user"), on_delete=models.CASCADE, related_name="login_months"
    )
    number = models.ForeignKey(Number, verbose_name=_("user's number"), on_delete=models.PROTECT, db_index=False)
    month = models.DateField(_("month"), help_text=_("its first day"))
    user_type = models.CharField(pgettext_lazy("of a user", "type"), max_length=20)
    # The four bytes of Redis' bitmap as one number: day 1 is its second highest bit. Bit 0 is never set.
    bits = models.PositiveIntegerField(_("bits"), default=0)
    is_expired = models.BooleanField(_("only in SQL"), default=False)

    objects = LoginMonthQuerySet.as_manager()

    class Meta:
        verbose_name = _("login month")
        verbose_name_plural = _("login months")
        permissions = [("view_report", _("Can view the login report"))]
        indexes = [models.Index(fields=["month", "user_type", "name"], name="loginlog_by_month")]

    def __str__(self) -> str:
        return self.name
