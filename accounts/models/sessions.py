"""Sessions, and the times they were last seen."""

from typing import Any

from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.utils import timezone
from django.utils.module_loading import import_string
from django.utils.translation import gettext_lazy as _

from accounts.models.users import User


class Session(AbstractBaseSession):
    """A session of one browser. Its key is the SHA-256 of the token in the cookie, so that a copy of this table is
    useless for logging in.
    """

    session_key = models.CharField(_("digest of the token"), max_length=64, primary_key=True)
    user = models.ForeignKey(User, verbose_name=_("user"), on_delete=models.CASCADE, null=True, related_name="sessions")
    device = models.CharField(_("device"), max_length=200, blank=True, default="")
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta(AbstractBaseSession.Meta):
        verbose_name = _("session")  # type: ignore[assignment]
        verbose_name_plural = _("sessions")  # type: ignore[assignment]

    def __str__(self) -> str:
        return self.session_key[:16]

    @classmethod
    def get_session_store_class(cls) -> Any:
        """Return the session engine that reads and writes these rows."""
        return import_string("accounts.sessions.engine.SessionStore")  # by name, because that module imports this one


class LastSeen(models.Model):
    """The last-seen time of a session, which the consumer of visits writes (``accounts.visits``)."""

    # Without a constraint, because every writer locks the session's row, and the check was half the cost of ending one.
    session = models.OneToOneField(
        Session,
        verbose_name=_("session"),
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="last_seen",
        db_constraint=False,
    )
    seen_at = models.DateTimeField(_("last seen"))

    class Meta:
        verbose_name = _("last seen")
        verbose_name_plural = _("last seen")

    def __str__(self) -> str:
        return self.session_id[:16]
