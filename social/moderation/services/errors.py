"""Reasons for which a service refuses. ``str()`` of the error is a message in the visitor's language."""

from django.utils.translation import gettext_lazy as _

from common.refusals import Refused


class AlreadyDecided(Refused):
    """Somebody else has decided meanwhile."""

    message = _("This was decided already.")


class NotAllowed(Refused):
    """The member of staff may not decide this."""

    message = _("You may not decide this.")


class TargetMissing(Refused):
    """The post, list or tag does not exist any more."""

    message = _("This does not exist any more.")


class AccountAlreadyInactive(Refused):
    """The account is inactive for another reason."""

    message = _("The account is already inactive, and a suspension would end that.")


class NotAppealable(Refused):
    """An appeal was made already, or the time for it is over."""

    message = _("An appeal is not possible any more.")
