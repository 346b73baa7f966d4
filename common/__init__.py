"""Helpers, templates and styles that all applications use."""
