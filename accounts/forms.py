"""Forms of accounts."""

from typing import Any

from django.contrib.auth.forms import UserCreationForm
from django.utils.translation import gettext_lazy as _

from accounts.models import User


class RegisterForm(UserCreationForm):
    """A name nobody has in any case, and a strong password, twice."""

    class Meta(UserCreationForm.Meta):
        model = User
        fields = ("username",)
        help_texts = {
            "username": _("Letters and digits of any script; between them single blanks or . _ - ' may stand.")
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["password2"].help_text = ""
