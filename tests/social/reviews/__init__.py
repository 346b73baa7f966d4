"""Tests of reviews and of the posts that show ratings."""
