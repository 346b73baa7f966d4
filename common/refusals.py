"""The base class of the reasons for which services refuse a request."""

from typing import ClassVar

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


class Refused(Exception):
    """The service refused. ``str()`` is the reason in the visitor's language."""

    message: ClassVar[str | Promise] = _("This is not possible.")

    def __str__(self) -> str:
        return str(self.message)
