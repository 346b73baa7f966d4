"""Reviews on the page of a book."""

from typing import Final

from django.http import HttpRequest
from django.utils.safestring import SafeString
from jinja2 import pass_context
from jinja2.runtime import Context

from catalog.listing import BookRecord
from common.template_functions import render_part, visitor
from social.reviews.selectors import get_reviews

MAX_REVIEWS: Final = 3


@pass_context
def reviews_of_book(context: Context, book: BookRecord, rating: SafeString, ratings: SafeString) -> SafeString:
    """Show the number of reviews of ``book``, the most helpful ones, the parts about ratings, and a link to the form.

    rating: the visitor's. ratings: those of all readers.
    """
    request: HttpRequest = context["request"]
    me = visitor(context)
    found = get_reviews(book["id"], me.pk if me else None, size=MAX_REVIEWS)
    shown = {
        "me": me,
        "book": book,
        "reviews": found,
        "rating": rating,
        "ratings": ratings,
        "next_address": request.path,
    }
    return render_part(context, "social/reviews/_reviews_of_book.html", shown)
