"""Declarations: how rows of a model appear in Redis, the parts that are derived, and the system checks."""
