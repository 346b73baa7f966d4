"""Application configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SocialConfig(AppConfig):
    name = "social"
    verbose_name = _("community")

    def ready(self) -> None:
        from accounts.users import hiding
        from catalog.search.results.candidates import ReaderSource, register_reader_source
        from social import checks, notification_kinds, personal  # noqa: F401
        from social.relations import blocks, profiles

        hiding.register(blocks.find_hidden_in_lists)
        personal.register_parts()
        notification_kinds.register_kinds()
        register_reader_source(
            ReaderSource(("user", "shun"), profiles.queue_people, profiles.parse_people, profiles.find_people)
        )
