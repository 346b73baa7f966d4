"""Readings of a book: earlier ones, progress in the present one, undo of changes, and statistics of a year."""

from catalog.readings.pages import StatisticsPage, find_statistics_page
from catalog.readings.picture import find_picture_facts, render_picture
from catalog.readings.statistics import load_statistics

__all__ = ["StatisticsPage", "find_picture_facts", "find_statistics_page", "load_statistics", "render_picture"]
