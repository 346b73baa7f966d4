"""The kind of notifications of this application, and the page that they lead to."""

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext_lazy as _

from accounts.notifications.kinds import Detail, Kind, register
from accounts.notifications.models import Way
from common.paths import make_path


def register_kinds() -> None:
    """Register the kind."""
    register(
        Kind(
            "decision",
            _("Staff decide about you or your posts"),
            _("We made a decision about you or what you wrote."),
            _find_decisions,
            has_people=False,
            # Moderation sends a letter about each decision itself.
            ways=(Way.SITE, Way.OFF),
        )
    )


def _find_decisions(viewer: int, ids: Sequence[int]) -> Mapping[int, Detail]:
    """Return the page with all decisions about the viewer, because the address of one is known to SQL only."""
    return dict.fromkeys(ids, Detail(make_path("moderation:notices")))
