"""The site itself as a Django application, so that Django finds its checks, commands and templates."""

import gc
import logging

from django.apps import AppConfig
from django.conf import settings
from django.contrib.admin.apps import AdminConfig as DjangoAdminConfig
from django.core.cache import close_caches
from django.core.signals import request_finished
from django.db.backends.signals import connection_created


class AdminConfig(DjangoAdminConfig):
    default_site = "accounts.second_factor.admin_site.Site"


class SiteConfig(AppConfig):
    name = "config"
    label = "site"

    def ready(self) -> None:
        from common.database import request_priority
        from config import (
            checks,  # noqa: F401  (checks register on import)
            reports,
        )
        from mirror.metrics import prometheus  # noqa: F401  (its receivers register on import)

        logging.captureWarnings(True)  # Python's warnings become log lines
        connection_created.connect(request_priority.install_wrapper)
        # django-redis keeps its connections anyway, and closing nothing takes 3 % of a short request.
        request_finished.disconnect(close_caches)
        if settings.SENTRY_DSN:
            reports.start_reports(settings.SENTRY_DSN)
        # It was disabled when the package was imported.
        gc.freeze()
        gc.enable()
