"""Capture: triggers that append a change to the outbox for every modification of a watched row."""

__all__ = ["install"]  # imported when it is used: other packages of ``mirror`` need this one
