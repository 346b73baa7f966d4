"""Bitmaps of the login log in Redis and SQL."""
