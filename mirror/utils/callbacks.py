"""Callbacks of long operations."""

from collections.abc import Callable

Step = Callable[[str], object]  # called with the name of each step before it
ProgressCallback = Callable[[str, int], object]  # called with the name of a kind of rows and the number of further rows
CountCallback = Callable[[int], object]  # called with the number of further rows


def ignore(*args: object) -> None:
    """Do nothing: the default of a callback. Tests stop an operation between two steps here."""
