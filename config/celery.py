"""The Celery application. Workers run it as ``celery -A config worker``."""

import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("diptych")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect
def _keep_logging(**kwargs: Any) -> None:
    """Keep Django's logging settings: with a receiver of this signal, Celery does not install its own formats."""
