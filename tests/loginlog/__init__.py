"""Tests of the login log."""
