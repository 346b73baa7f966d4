"""Hints: what makes a change prompt. A hint may be lost; a change cannot."""


def connect() -> None:
    """Listen to the watched models."""
