"""What an account waits for: the verification of an address, its deletion, or the end of a suspension."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models.users import User, new_secret


class EmailChange(models.Model):
    """An e-mail address that waits for verification, also that of a new account. A newer request replaces it."""

    user = models.OneToOneField(
        User, verbose_name=_("user"), on_delete=models.CASCADE, primary_key=True, related_name="email_change"
    )
    email = models.EmailField(_("email address"))
    # Part of the link, so that the link is valid for this request only, and once.
    nonce = models.CharField(_("nonce"), max_length=32, default=new_secret, editable=False)
    asked_at = models.DateTimeField(_("requested"), default=timezone.now)

    class Meta:
        verbose_name = _("email change")
        verbose_name_plural = _("email changes")

    def __str__(self) -> str:
        return self.email


class AccountDeletion(models.Model):
    """A user's request to delete the account. The user may cancel it until it is due, unless it has a notice."""

    user = models.OneToOneField(
        User, verbose_name=_("user"), on_delete=models.CASCADE, primary_key=True, related_name="deletion"
    )
    asked_at = models.DateTimeField(_("requested"))
    due_at = models.DateTimeField(_("due"), db_index=True)
    # Of a decision of staff: the path of the page with the reasons and a way to appeal.
    notice = models.CharField(_("reasons"), max_length=200, blank=True, default="", db_default="")
    # Nothing is deleted before staff have decided about an appeal.
    is_held = models.BooleanField(_("held by an appeal"), default=False, db_default=False)

    class Meta:
        verbose_name = _("account deletion")
        verbose_name_plural = _("account deletions")

    def __str__(self) -> str:
        return str(self.user_id)


class Suspension(models.Model):
    """A user may not log in until a time. The account is inactive until then."""

    user = models.OneToOneField(
        User, verbose_name=_("user"), on_delete=models.CASCADE, primary_key=True, related_name="suspension"
    )
    began_at = models.DateTimeField(_("since"))
    ends_at = models.DateTimeField(_("until"), db_index=True)
    # The path of the page with the reasons and a way to appeal, which the user reads without a login.
    notice = models.CharField(_("reasons"), max_length=200, blank=True)

    class Meta:
        verbose_name = _("suspension")
        verbose_name_plural = _("suspensions")

    def __str__(self) -> str:
        return str(self.user_id)
