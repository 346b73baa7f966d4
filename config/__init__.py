"""Settings, URLs, Celery, and the templates and styles of the whole site."""

import gc

gc.disable()  # until the applications are ready: nearly all objects of the imports stay, and a start takes 28 % less

from config.celery import app as celery_app  # noqa: E402

__all__ = ["celery_app"]
