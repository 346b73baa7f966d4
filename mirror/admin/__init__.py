"""The admin pages of the mirrors, and the base of lists of big tables."""

from mirror.admin import pages  # noqa: F401  (registers its pages, which need the base)
from mirror.admin.counting import count_rows
from mirror.admin.overview import read_memory, read_overview
from mirror.admin.paging import PagedAdmin

__all__ = ["PagedAdmin", "count_rows", "read_memory", "read_overview"]
