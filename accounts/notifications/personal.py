"""The personal data of notifications."""

from accounts.notifications.models import Mailing, Notification, Preference
from accounts.personal import make_part, register


def register_parts() -> None:
    """Register notifications and the choices of readers."""
    notification = ["kind", "target", "count", "last_at", "read_at", "mailed_at"]
    register(make_part("notifications", Notification, "user", notification))
    register(make_part("notification_preferences", Preference, "user", ["kind", "way"]))
    register(make_part("notification_emails", Mailing, "user", ["way", "sent_at"]))
