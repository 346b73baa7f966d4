"""Tests of the application ``mirror``, with models and mirrors of their own (``tests.projects.mirrortest``)."""
