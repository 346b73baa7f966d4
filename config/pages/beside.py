"""What stands beside the posts of wide pages: readers with similar taste, and the most viewed books."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from jinja2 import pass_context
from jinja2.runtime import Context

from catalog.listing import BookRecord
from common.web import get_viewer_id
from mirror import together
from shop.book_views.popularity import get_viewed_books
from social.profiles.similar import Similar, find_similar_readers

MAX_SIMILAR: Final = 3  # readers
MAX_BOOKS: Final = 4


class Beside(NamedTuple):
    """similar: none for a visitor without a login. books: the most viewed ones."""

    similar: Sequence[Similar]
    books: Sequence[BookRecord]


@pass_context
def find_beside(context: Context, but: int = 0) -> Beside:
    """Return what stands beside the posts of a page. but: the id of a book that the page shows already.

    From warm mirrors: 2 round trips and no SQL, and none if they were read ahead.
    """
    viewer = get_viewer_id(context["request"])
    with together() as reads:
        similar = reads(_find_similar, viewer)
        viewed = reads(get_viewed_books, MAX_BOOKS + 1)
    books = [book for book in viewed.value if book["id"] != but]
    return Beside(similar.value[:MAX_SIMILAR], books[:MAX_BOOKS])


def _find_similar(viewer: int | None) -> list[Similar]:
    return find_similar_readers(viewer) if viewer else []


FUNCTIONS: Final[Mapping[str, Any]] = {"find_beside": find_beside}
FILTERS: Final[Mapping[str, Callable[..., Any]]] = {}
