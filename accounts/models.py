"""Who uses the site, how often they logged in, and the sessions in which they are."""

from collections.abc import Iterable
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractUser
from django.contrib.auth.models import UserManager as DjangoUserManager
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.db.models.functions import Cast, Upper
from django.utils import timezone
from django.utils.crypto import get_random_string, salted_hmac
from django.utils.module_loading import import_string
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.audit.models import AuditEvent as AuditEvent
from accounts.lockout.models import FailedLogins as FailedLogins
from accounts.lookalikes import MAX_SKELETON
from accounts.names import MAX_KEY, DerivedField, FoldedField, SkeletonField, fold, valid_name
from accounts.second_factor.models import AuthenticatorApp as AuthenticatorApp
from accounts.second_factor.models import Passkey as Passkey
from accounts.second_factor.models import RecoveryCode as RecoveryCode


def new_secret() -> str:
    """A secret of a user's own, that all of their sessions have to agree with."""
    return get_random_string(22)


class UserQuerySet(models.QuerySet["User"]):
    """Users."""

    def update(self, **fields: Any) -> int:
        """As Django's; what is derived from a new name is as well. Raises TypeError for a name worked out in SQL."""
        name = fields.get("username")
        if isinstance(name, str):
            fields |= {field.attname: field.derive(name) for field in of_names()}
        elif "username" in fields and "name_key" not in fields:
            raise TypeError("A name is given as text: SQL does not fold it as names are folded.")
        return super().update(**fields)

    def bulk_update(self, objs: Iterable["User"], fields: Iterable[str], batch_size: int | None = None) -> int:
        """As Django's; what is derived from new names is written as well."""
        people: list[Any] = list(objs)
        columns = list(fields)
        if "username" in columns:
            for field in of_names():
                for user in people:
                    setattr(user, field.attname, field.derive(user.username))
                columns.append(field.attname)
        return super().bulk_update(people, columns, batch_size)


def of_names() -> list[DerivedField]:
    """The columns that are derived from the name of a user."""
    return [field for field in User._meta.concrete_fields if isinstance(field, DerivedField)]


class UserManager(DjangoUserManager.from_queryset(UserQuerySet)):  # type: ignore[misc]
    """Finds people by name in any case."""

    def get_by_natural_key(self, username: str | None) -> "User":
        """The user of that name, however it is spelled. Raises User.DoesNotExist.

        A log-in needs to know whether the account is being deleted, and must not ask one question more for it.
        """
        found: User = self.select_related("deletion").get(name_key=fold(username or ""))
        return found


class User(AbstractUser):
    """A person. Names are unique whatever their case: no two people can claim one."""

    class Type(models.TextChoices):
        CLIENT = "client", _("client")
        OFFICE = "office", _("office")

    username = models.CharField(
        pgettext_lazy("of a reader", "name"),
        max_length=60,
        unique=True,
        validators=[valid_name],
        error_messages={"unique": _("This name is taken.")},
    )
    # Case folding can make a name three times as long.
    name_key = FoldedField(_("name, folded"), of="username", max_length=MAX_KEY, unique=True, editable=False)
    # Not unique: names that were there before may look alike, and staff may give such names.
    name_skeleton = SkeletonField(
        _("name, as it looks"), of="username", max_length=MAX_SKELETON, default="", editable=False
    )
    user_type = models.CharField(
        _("type"), max_length=20, choices=Type.choices, default=Type.CLIENT, db_default=Type.CLIENT
    )
    # Goes into every session's hash: a new one ends them all.
    session_secret = models.CharField(_("session secret"), max_length=32, default=new_secret, editable=False)
    last_login = None  # LoginStats has it: a login must not change the user's row

    objects: ClassVar[UserManager] = UserManager()

    class Meta:
        verbose_name = _("user")
        verbose_name_plural = _("users")
        indexes = [
            models.Index(Upper("email"), name="accounts_email"),  # for forgotten passwords
            models.Index(fields=["name_skeleton"], name="accounts_skeleton"),  # for new names
            # Few, and taken off every count of people.
            models.Index(fields=["id"], condition=models.Q(is_active=False), name="accounts_inactive"),
        ]

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """What a session of this user has to bear: agrees with the password and with the user's own secret."""
        said = f"{self.password}\0{self.session_secret}"
        return salted_hmac("accounts.User.session", said, secret=secret, algorithm="sha256").hexdigest()


class LoginStats(models.Model):
    """How often a person has logged in, and when last. No row: never."""

    user = models.OneToOneField(
        User, verbose_name=_("user"), on_delete=models.CASCADE, primary_key=True, related_name="login_stats"
    )
    login_times = models.PositiveIntegerField(_("logins"), default=0)
    last_login_time = models.DateTimeField(_("last login"))

    class Meta:
        verbose_name = _("login statistics")
        verbose_name_plural = _("login statistics")
        indexes = [
            # As the sorted set orders them: by count, then by the id as text.
            models.Index(
                models.F("login_times").desc(),
                Cast("user_id", models.TextField()).desc(),
                name="accounts_most_logins",
            ),
            models.Index(models.F("last_login_time").desc(), models.F("user_id").desc(), name="accounts_last_logins"),
        ]

    def __str__(self) -> str:
        return str(self.user_id)


class EmailChange(models.Model):
    """An address that a person wants and has not confirmed yet, also that of a new account. A newer one replaces it."""

    user = models.OneToOneField(
        User, verbose_name=_("user"), on_delete=models.CASCADE, primary_key=True, related_name="email_change"
    )
    email = models.EmailField(_("e-mail address"))
    # In the link as well, so that a link is good for this wish alone, and once.
    nonce = models.CharField(_("nonce"), max_length=32, default=new_secret, editable=False)
    asked_at = models.DateTimeField(_("asked"), default=timezone.now)

    class Meta:
        verbose_name = _("change of e-mail address")
        verbose_name_plural = _("changes of e-mail addresses")

    def __str__(self) -> str:
        return self.email


class AccountDeletion(models.Model):
    """A person has asked for their account to be deleted. Until it is due they may take that back."""

    user = models.OneToOneField(
        User, verbose_name=_("user"), on_delete=models.CASCADE, primary_key=True, related_name="deletion"
    )
    asked_at = models.DateTimeField(_("requested"))
    due_at = models.DateTimeField(_("due"), db_index=True)

    class Meta:
        verbose_name = _("account deletion")
        verbose_name_plural = _("account deletions")

    def __str__(self) -> str:
        return str(self.user_id)


class Session(AbstractBaseSession):
    """One browser's session. Its key is the SHA-256 of the token that the browser has: a copy of this table logs
    nobody in.
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
        """The engine that reads and writes these rows."""
        return import_string("accounts.sessions.SessionStore")  # by name: it is made of these rows


class LastSeen(models.Model):
    """When a session was last used, as far as SQL has been told: Redis knows first (``accounts.backups``)."""

    # No constraint: whoever writes here locks the session, and checking it was half of what ending one costs.
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
