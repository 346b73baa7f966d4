"""Application configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SocialConfig(AppConfig):
    name = "social"
    verbose_name = _("community")

    def ready(self) -> None:
        from accounts import hiding
        from catalog.search.selectors import ReaderSource, register_reader_source
        from social import checks, people, personal, shuns  # noqa: F401

        hiding.register(shuns.HIDE_BLOCKED)
        personal.register_parts()
        register_reader_source(
            ReaderSource(("user", "shun"), people.queue_people, people.parse_people, people.find_people_in_sql)
        )
