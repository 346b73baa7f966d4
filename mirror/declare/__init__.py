"""Declarations: how rows of a model appear in Redis, and the parts that are derived."""
