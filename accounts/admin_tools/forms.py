"""Forms of the admin that report an existing name in another spelling as a validation error."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from unfold.forms import UserChangeForm as UnfoldChangeForm
from unfold.forms import UserCreationForm as UnfoldCreationForm

from accounts.admin_tools.concurrent_edits import ConcurrentEditForm
from accounts.lookalikes import skeleton
from accounts.models import FormerName, User
from accounts.names import is_misleading
from common import clock
from common.text import fold


class _UniqueNameMixin:
    """Mixin that refuses names of other users in any case or width, and new names that look like existing ones."""

    cleaned_data: dict[str, Any]
    instance: User

    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"]
        others = User.objects.exclude(pk=self.instance.pk)
        kept = FormerName.objects.exclude(user=self.instance.pk).filter(reserved_until__gt=clock.now())
        if others.filter(name_key=fold(name)).exists():
            raise ValidationError(User._meta.get_field("username").error_messages["unique"], code="unique")
        is_new = fold(name) != self.instance.name_key
        alike = Q(name_skeleton=skeleton(name))
        if is_new and (is_misleading(name) or others.filter(alike).exists() or kept.filter(alike).exists()):
            raise ValidationError(
                _("This name is too similar to another name or a web address. Choose another one."), code="misleading"
            )
        return name


class UserChangeForm(_UniqueNameMixin, ConcurrentEditForm, UnfoldChangeForm):
    """Change an existing user. Its owner, or a decision about a report, may change or deactivate it meanwhile."""


class UserCreationForm(_UniqueNameMixin, UnfoldCreationForm):
    """Create a user."""
