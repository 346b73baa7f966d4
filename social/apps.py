"""Application configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SocialConfig(AppConfig):
    name = "social"
    verbose_name = _("community")

    def ready(self) -> None:
        from accounts import hiding
        from catalog.search.selectors import Readers, register_readers
        from social import checks, people, personal, shuns  # noqa: F401

        hiding.register(shuns.ACROSS_BLOCKS)
        personal.register_parts()
        register_readers(Readers(("user", "shun"), people.ask_people, people.read_people, people.people_by_sql))
