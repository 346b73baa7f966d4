"""Forms of the admin that are not Django's: a name that somebody has in another spelling is a mistake, not a crash."""

from typing import Any

from django.core.exceptions import ValidationError
from unfold.forms import UserChangeForm as UnfoldChangeForm
from unfold.forms import UserCreationForm as UnfoldCreationForm

from accounts.models import User
from accounts.names import fold


class _OwnName:
    """Mixin: the name must be nobody else's in any case or width."""

    cleaned_data: dict[str, Any]
    instance: User

    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"]
        if User.objects.filter(name_key=fold(name)).exclude(pk=self.instance.pk).exists():
            raise ValidationError(User._meta.get_field("username").error_messages["unique"], code="unique")
        return name


class UserChangeForm(_OwnName, UnfoldChangeForm):
    """For a user who is there."""


class UserCreationForm(_OwnName, UnfoldCreationForm):
    """For a new one."""
