"""Passwords: hashing, validation, change and reset."""
