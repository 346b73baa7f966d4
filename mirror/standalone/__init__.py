"""The relay without Celery: ``mirror run``."""
