"""The tasks of Celery, which only workers load."""

from functools import cache

from celery import current_app


@cache
def load_tasks() -> None:
    """Load all tasks as a worker does. That configures logging and runs all system checks, so it happens once."""
    current_app.loader.import_default_modules()
