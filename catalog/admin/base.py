"""Parts of several pages: actions with the name of a tag, and numbers of books."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import Count, IntegerField, Model, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.forms import ActionForm

from accounts.admin_tools import AuditedAdmin, CompletedInput, link_to_list, link_to_rows
from catalog.models import Book, Tag
from catalog.tags.aliases import find_meant

FIELD_CLASSES = "bg-white/20 font-medium px-2 py-1 rounded-default text-sm placeholder:text-current"


def make_name_field(label: Any, max_length: int) -> forms.CharField:
    """Return a field for a name beside the choice of an action. The action itself reports a wrong name."""
    attributes = {"placeholder": label, "aria-label": label, "class": FIELD_CLASSES, "x-show": "action"}
    widget = CompletedInput(attrs=attributes)
    return forms.CharField(label="", required=False, max_length=max_length, widget=widget)


class TagActionForm(ActionForm):
    """The form of an action, with a field for the name of a tag."""

    tag = make_name_field(_("tag"), 200)


class TagActionAdmin(AuditedAdmin):
    """A model admin with actions that take the name of a tag."""

    action_form = TagActionForm

    def get_tag_name(self, request: HttpRequest) -> str:
        """Return the normalised name of the form. For an invalid name, show a message and return ""."""
        try:
            typed = forms.CharField(max_length=200).clean(request.POST.get("tag"))
            return str(Tag._meta.get_field("name").clean(typed, None))
        except ValidationError:
            text = gettext("Enter the name of a tag next to the action.")
            self.message_user(request, text, messages.WARNING)
            return ""

    def find_named_tag(self, request: HttpRequest) -> Tag | None:
        """Return the tag with the name or alias of the form. If there is none, show a message and return None."""
        name = self.get_tag_name(request)
        if not name:
            return None
        # A tag may have the name of a shipped alias that no import has met yet.
        by_name = Tag.objects.in_bulk([name, *find_meant([name]).values()], field_name="name")
        tag: Tag | None = by_name.get(name) or next(iter(by_name.values()), None)
        if tag is None:
            text = gettext("There is no tag called “%(name)s”.") % {"name": name}
            self.message_user(request, text, messages.WARNING)
        return tag


def annotate_book_counts(rows: QuerySet[Any], links: type[Model], column: str) -> QuerySet[Any]:
    """Return ``rows`` annotated with ``book_count``, which SQL counts for the displayed rows only."""
    counts = links._base_manager.filter(**{column: OuterRef("pk")}).order_by().values(column)
    return rows.annotate(
        book_count=Coalesce(Subquery(counts.annotate(n=Count("pk")).values("n"), output_field=IntegerField()), 0)
    )


def link_to_books(lookup: str, row: Any) -> str:
    """Return the number of books as a link to the list of these books."""
    address = link_to_list(Book, **{lookup: row.pk})
    return link_to_rows(Book, address, row.book_count)
