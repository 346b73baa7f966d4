"""Settings, URLs, Celery, and the templates and styles of the whole site."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
