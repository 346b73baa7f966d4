"""Users, their names, and their login counts."""

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from django.contrib.auth.models import AbstractUser
from django.contrib.auth.models import UserManager as DjangoUserManager
from django.db import models
from django.db.models import Value
from django.db.models.functions import Cast, Upper
from django.db.models.lookups import Exact
from django.utils.crypto import get_random_string, salted_hmac
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.lookalikes import MAX_SKELETON
from accounts.names import MAX_NAME_KEY, DerivedField, FoldedField, SkeletonField, valid_name
from accounts.passwords.hashers import normalize_password
from common.text import fold, fold_address

MAX_SAME_ADDRESS: Final = 10  # accounts of one address that a login looks at


def new_secret() -> str:
    """Return a random secret, for example for ``User.session_secret``."""
    return get_random_string(22)


class UserQuerySet(models.QuerySet["User"]):
    """A query for users that keeps the columns derived from names up to date."""

    def update(self, **fields: Any) -> int:
        """Update as Django does, with the columns derived from a new name.

        Raises TypeError for a name that is computed in SQL.
        """
        name = fields.get("username")
        if isinstance(name, str):
            fields |= {field.attname: field.derive(name) for field in get_derived_fields()}
        elif "username" in fields and "name_key" not in fields:
            raise TypeError("A name is given as text: SQL does not fold it as names are folded.")
        return super().update(**fields)

    def bulk_update(self, objs: Iterable["User"], fields: Iterable[str], batch_size: int | None = None) -> int:
        """Update as Django does, with the columns derived from new names."""
        people: list[Any] = list(objs)
        columns = list(fields)
        if "username" in columns:
            for field in get_derived_fields():
                for user in people:
                    setattr(user, field.attname, field.derive(user.username))
                columns.append(field.attname)
        return super().bulk_update(people, columns, batch_size)


def get_derived_fields() -> list[DerivedField]:
    """Return the columns that are derived from the name of a user."""
    return [field for field in User._meta.concrete_fields if isinstance(field, DerivedField)]


class UserManager(DjangoUserManager.from_queryset(UserQuerySet)):  # type: ignore[misc]
    """A manager that finds users by name in any case."""

    def get_by_natural_key(self, username: str | None) -> "User":
        """Return the user with this name, in any spelling that folds to the same name. Raises User.DoesNotExist.

        The query joins the deletion request and the suspension, because a login needs them and must not run another
        query for each.
        """
        found: User = self.select_related("deletion", "suspension").get(name_key=fold(username or ""))
        return found

    def get_by_login(self, typed: str) -> "User":
        """Return the user with this name, or with this verified email address. Raises User.DoesNotExist.

        An address of several accounts finds none of them: each guess would check a password of each.
        """
        if "@" not in typed:  # no name contains it
            return self.get_by_natural_key(typed)
        same = self.select_related("deletion", "suspension").filter(Exact(Upper("email"), Upper(Value(typed))))
        # The database's upper case may equate addresses that ``fold_address`` distinguishes.
        found = [user for user in same[:MAX_SAME_ADDRESS] if fold_address(user.email) == fold_address(typed)]
        if len(found) != 1:
            raise User.DoesNotExist
        return found[0]


class User(AbstractUser):
    """A registered user. Names are unique regardless of case."""

    class Type(models.TextChoices):
        CLIENT = "client", _("client")
        OFFICE = "office", _("office")

    username = models.CharField(
        pgettext_lazy("of a reader", "name"),
        max_length=60,
        unique=True,
        validators=[valid_name],
        error_messages={"unique": _("That name is already taken.")},
    )
    # Case folding can make a name three times as long.
    name_key = FoldedField(_("normalized name"), of="username", max_length=MAX_NAME_KEY, unique=True, editable=False)
    # Not unique: older names may look alike.
    name_skeleton = SkeletonField(
        _("lookalike form of the name"), of="username", max_length=MAX_SKELETON, default="", editable=False
    )
    user_type = models.CharField(
        _("type"), max_length=20, choices=Type.choices, default=Type.CLIENT, db_default=Type.CLIENT
    )
    is_private = models.BooleanField(
        _("private"),
        default=False,
        db_default=False,
        help_text=_("Only followers whom the reader has approved see posts and shelves."),
    )
    shows_logins = models.BooleanField(
        _("shows logins"),
        default=False,
        db_default=False,
        help_text=_("Everyone sees the reader on the leaderboard and among the recent logins."),
    )
    # The name of the picture's files (social.profiles.pictures); "": the page draws the initial.
    avatar = models.CharField(_("picture"), max_length=40, blank=True, default="", db_default="", editable=False)
    # Without choices: the tables of zones change, and a migration for each change would help nobody.
    time_zone = models.CharField(_("time zone"), max_length=60, blank=True, default="", db_default="")
    # The language that the user chose last, for emails that other requests and workers send.
    language = models.CharField(_("language"), max_length=10, blank=True, default="", db_default="", editable=False)
    # Part of the hash of every session: a new secret ends all sessions of the user.
    session_secret = models.CharField(_("session secret"), max_length=32, default=new_secret, editable=False)
    last_login = None  # LoginStats stores it, because a login must not change the user's row

    objects: ClassVar[UserManager] = UserManager()

    class Meta:
        verbose_name = _("user")
        verbose_name_plural = _("users")
        indexes = [
            models.Index(Upper("email"), name="accounts_email"),  # for password resets
            models.Index(fields=["name_skeleton"], name="accounts_skeleton"),  # for new names
            models.Index(fields=["date_joined"], name="accounts_joined"),
            # The few inactive users, which every count of users subtracts.
            models.Index(fields=["id"], condition=models.Q(is_active=False), name="accounts_inactive"),
            models.Index(fields=["id"], condition=models.Q(shows_logins=True), name="accounts_shows_logins"),
        ]

    def check_password(self, raw_password: str | None) -> bool:
        """Return whether this is the password. Hashes from before passwords were normalised are of the typed text.

        Each spelling costs one hash, also for a user without a usable password.
        """
        if raw_password is None:
            return super().check_password(None)
        spellings = dict.fromkeys((normalize_password(raw_password), raw_password))
        return any(super(User, self).check_password(spelling) for spelling in spellings)

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """Return the hash that sessions of this user must carry. It depends on the password and the session secret."""
        text = f"{self.password}\0{self.session_secret}"
        return salted_hmac("accounts.User.session", text, secret=secret, algorithm="sha256").hexdigest()


class FormerName(models.Model):
    """A name that a user had before. No one else can take it until it is no longer reserved."""

    user = models.ForeignKey(User, verbose_name=_("user"), on_delete=models.CASCADE, related_name="former_names")
    name = models.CharField(pgettext_lazy("of a reader", "name"), max_length=60)
    name_key = FoldedField(_("normalized name"), of="name", max_length=MAX_NAME_KEY, db_index=True, editable=False)
    name_skeleton = SkeletonField(
        _("lookalike form of the name"), of="name", max_length=MAX_SKELETON, db_index=True, editable=False
    )
    changed_at = models.DateTimeField(_("changed"))
    reserved_until = models.DateTimeField(_("reserved until"), db_index=True)

    class Meta:
        verbose_name = _("former name")
        verbose_name_plural = _("former names")

    def __str__(self) -> str:
        return self.name


class LoginStats(models.Model):
    """The number of a user's logins and the time of the last one. A user without a row has never logged in."""

    user = models.OneToOneField(
        User, verbose_name=_("user"), on_delete=models.CASCADE, primary_key=True, related_name="login_stats"
    )
    login_times = models.PositiveIntegerField(_("logins"), default=0)
    last_login_time = models.DateTimeField(_("last login"))

    class Meta:
        verbose_name = _("login statistics")
        verbose_name_plural = _("login statistics")
        indexes = [
            # The order of the sorted set in Redis: by count, then by the id as text.
            models.Index(
                models.F("login_times").desc(),
                Cast("user_id", models.TextField()).desc(),
                name="accounts_most_logins",
            ),
            models.Index(models.F("last_login_time").desc(), models.F("user_id").desc(), name="accounts_last_logins"),
        ]

    def __str__(self) -> str:
        return str(self.user_id)
