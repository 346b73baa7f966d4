"""Warmth: the markers that prove that a mirror is complete in Redis, and every reason to make it cold."""
