"""Triggers: what makes it certain that a change is noticed."""


def connect() -> None:
    """Install triggers after every migration."""
