"""Functions of templates: notifications."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from accounts.notifications.pages.header import notifications_link
from accounts.notifications.pages.sentences import render_sentence

FUNCTIONS: Final[Mapping[str, Any]] = {
    "notification_sentence": render_sentence,
    "notifications_link": notifications_link,
}
FILTERS: Final[Mapping[str, Callable[..., Any]]] = {}
