"""The outbox in SQL: pending and applied changes, changes of sources, and the progress of a fan-out."""

__all__ = ["progress"]  # imported when it is used: other packages of ``mirror`` need this one
