"""Second factors of users."""

from typing import Final

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

MAX_CREDENTIAL: Final = 1364  # characters: WebAuthn's maximum of 1,023 bytes, in base64url


class AuthenticatorApp(models.Model):
    """A secret that an authenticator app shares with the site (TOTP, RFC 6238)."""

    user = models.OneToOneField(
        "accounts.User",
        verbose_name=_("user"),
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="authenticator_app",
    )
    secret = models.CharField(_("secret, encrypted"), max_length=200, editable=False)
    # The time step of the last used code. Codes of this and earlier steps are refused.
    last_step = models.BigIntegerField(_("last time step"), default=0)
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        app_label = "accounts"
        verbose_name = _("authenticator app")
        verbose_name_plural = _("authenticator apps")

    def __str__(self) -> str:
        return str(self.user_id)


class Passkey(models.Model):
    """A public key of a user's device or security key (WebAuthn)."""

    user = models.ForeignKey("accounts.User", verbose_name=_("user"), on_delete=models.CASCADE, related_name="passkeys")
    name = models.CharField(_("name"), max_length=60)
    credential_id = models.CharField(_("credential"), max_length=MAX_CREDENTIAL, unique=True)  # in base64url
    public_key = models.BinaryField(_("public key"))
    sign_count = models.BigIntegerField(_("signatures"), default=0)
    created_at = models.DateTimeField(_("since"), default=timezone.now)
    used_at = models.DateTimeField(_("last used"), null=True)

    class Meta:
        app_label = "accounts"
        verbose_name = _("passkey")
        verbose_name_plural = _("passkeys")

    def __str__(self) -> str:
        return self.name


class RecoveryCode(models.Model):
    """The digest of a code for users who have lost their device. Using the code deletes the row."""

    user = models.ForeignKey(
        "accounts.User", verbose_name=_("user"), on_delete=models.CASCADE, related_name="recovery_codes"
    )
    digest = models.CharField(_("digest"), max_length=64)
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        app_label = "accounts"
        verbose_name = _("recovery code")
        verbose_name_plural = _("recovery codes")
        constraints = [models.UniqueConstraint(fields=["user", "digest"], name="accounts_recovery_once")]

    def __str__(self) -> str:
        return str(self.pk)
