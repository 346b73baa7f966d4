"""Who uses the site."""

from typing import ClassVar

from django.contrib.auth.models import AbstractUser, UserManager
from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

# Letters of any script, digits, and single blanks or . _ - ' between them: "ken thompson" is a name.
valid_name = RegexValidator(
    r"^[^\W_]+(?:[ ._'\-][^\W_]+)*\Z",
    _("A name is made of letters and digits; between them single blanks or . _ - ' may stand."),
)


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
    user_type = models.CharField(
        _("type"), max_length=20, choices=Type.choices, default=Type.CLIENT, db_default=Type.CLIENT
    )

    objects: ClassVar[UserManager] = UserManager()

    class Meta:
        verbose_name = _("user")
        verbose_name_plural = _("users")
        constraints = [
            models.UniqueConstraint(
                Lower("username"),
                name="accounts_user_name_any_case",
                violation_error_message=_("This name is taken."),
            )
        ]
