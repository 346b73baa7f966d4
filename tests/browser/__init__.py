"""Tests of the site in a real browser."""
