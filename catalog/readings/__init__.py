"""Readings of a book: earlier ones, progress in the present one, undo of changes, and statistics of a year."""
