"""The outbox in SQL: pending and applied changes, changes of sources, and the progress of a fan-out."""
