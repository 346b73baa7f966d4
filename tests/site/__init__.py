"""Tests of the project as a whole: the base template, settings, roles, languages and imports."""
