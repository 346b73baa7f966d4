"""The tests. ``conftest.py`` says how they are run and what they find ready."""
