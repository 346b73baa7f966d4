"""Helpers without knowledge of mirrors."""
