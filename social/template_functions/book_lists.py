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
MAX_SHOWN: Final = 3  # the others open below


@pass_context
def lists_with_book(context: Context, row_ids: Sequence[int]) -> SafeString:
    """Show some of the public lists that contain a book. row_ids: the rows of these lists that name the book."""
    lists = find_public_lists(row_ids) if row_ids else []
    if not lists:
        return SafeString()
    viewer = visitor(context)
    owner_ids = [one["user"] for one in lists]
    # Without the readers whom the visitor must not see.
    owners = {owner.id: owner for owner in find_people(viewer.pk if viewer else 0, owner_ids)}
    shown = [(one, owners[one["user"]]) for one in lists if one["user"] in owners]
    facts = {"lists": shown[:MAX_LISTS], "max_shown": MAX_SHOWN}
    return render_part(context, "social/_lists_with_book.html", facts)
