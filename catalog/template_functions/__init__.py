"""Functions and filters of templates: books and shelves."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from catalog.covers import show_cover, show_portrait
from catalog.details.selectors import get_format_label
from catalog.shelves.arrangements import ORDERS
from catalog.shelves.forms import Unit, When
from catalog.shelves.models import STARS, Shelf
from catalog.shelves.records import write_stars
from catalog.template_functions import books, shelves
from catalog.values.isbns import shorten_isbn
from catalog.values.languages import get_language_name
from catalog.values.tag_labels import get_tag_label

FUNCTIONS: Final[Mapping[str, Any]] = {
    "book_readers": shelves.book_readers,
    "book_tags": books.book_tags,
    "cards": books.cards,
    "count_lines": books.count_lines,
    "cover": show_cover,
    "cover_address": books.cover_address,
    "description": books.description,
    "filter_error": books.filter_error,
    "filter_field": books.filter_field,
    "series_link": books.series_link,
    "series_line": books.series_line,
    "series_places": books.series_places,
    "all_stars": STARS,
    "author_portrait": show_portrait,
    "link_authors": books.link_authors,
    "mean_stars": shelves.mean_stars,
    "own_parts": shelves.own_parts,
    "reading_progress": shelves.reading_progress,
    "shelf_choice": shelves.shelf_choice,
    "shelf_orders": [(name, order.label) for name, order in ORDERS.items()],
    "shelf_choices": Shelf.choices,
    "shelf_label": shelves.shelf_label,
    "unit_choices": Unit.choices,
    "when_choices": When.choices,
    "star_label": shelves.star_label,
    "show_stars": shelves.show_stars,
    "structured_data": books.structured_data,
    "tag_link": books.tag_link,
}
FILTERS: Final[Mapping[str, Callable[..., Any]]] = {
    "author_and_count": books.author_and_count,
    "authors_linked": books.authors_linked,
    "book_format": get_format_label,
    "first_author": books.first_author,
    "language": get_language_name,
    "short_isbn": shorten_isbn,
    "short_title": books.short_title,
    "stars": write_stars,
    "tag_label": get_tag_label,
    "title_link": books.title_link,
    "year": books.year,
}
