"""The recommendations on the page of a book."""

from django.utils.safestring import SafeString
from jinja2 import pass_context
from jinja2.runtime import Context

from shop.recommend.page import render_strips
from shop.recommend.selectors import NO_STRIPS, get_recommendation_strips


@pass_context
def recommended(context: Context, book_id: int) -> SafeString:
    """Render two strips of books. On the book's own page the rankings were read with the book
    (``shop.recommend.page``).
    """
    book, extras = context.get("book"), context.get("extras")
    if extras is not None and book is not None and book["id"] == book_id:
        found = extras["recommendations"]
        return render_strips(found.strips if found else NO_STRIPS)
    return render_strips(get_recommendation_strips(book_id))
