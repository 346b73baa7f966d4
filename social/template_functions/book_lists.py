"""Readers' lists on the page of a book."""

from collections.abc import Sequence
from typing import Final

from django.utils.safestring import SafeString
from jinja2 import pass_context
from jinja2.runtime import Context

from catalog.lists.selectors import find_public_lists
from common.template_functions import render_part, visitor
from social.relations.profiles import find_people

MAX_LISTS: Final = 5  # fewer than the page reads, because the visitor may have blocked some of their readers


@pass_context
def lists_with_book(context: Context, row_ids: Sequence[int]) -> SafeString:
    """Show some of the public lists that contain a book: those of its rows ``row_ids``."""
    found = find_public_lists(row_ids) if row_ids else []
    if not found:
        return SafeString()
    me = visitor(context)
    people = {person.id: person for person in find_people(me.pk if me else 0, [one["user"] for one in found])}
    shown = [(one, people[one["user"]]) for one in found if one["user"] in people][:MAX_LISTS]
    return render_part(context, "social/_lists_with_book.html", {"lists": shown})
