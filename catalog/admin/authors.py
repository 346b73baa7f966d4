"""Authors in the admin."""

from collections.abc import Sequence
from typing import Any, Final

from django.contrib import admin
from django.contrib.admin.models import CHANGE
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import TabularInline
from unfold.decorators import display
from unfold.forms import ActionForm

from accounts.admin_tools import (
    AuditedAdmin,
    CompletedInput,
    Question,
    SerialisedEdits,
    ask_for_confirmation,
    is_confirmed,
)
from accounts.audit.log import log_rows
from catalog.admin.base import annotate_book_counts, link_to_books, make_name_field
from catalog.authors.merging import merge_authors
from catalog.authors.naming import find_authors_named, suggest_author_names
from catalog.models import Author, AuthorAlias, Book
from catalog.pictures.admin import PICTURE_FIELDS, AuthorForm, PictureAdminMixin

INPUT_CLASSES: Final = "border border-base-200 px-3 py-2 rounded-default w-full dark:border-base-700"
EFFECT: Final = _(
    "All their books become books of “%(name)s”, and their pages lead to this author's page. This cannot be undone."
)


class AuthorActionForm(ActionForm):
    """The form of an action, with a field for the name of an author."""

    author = make_name_field(_("author"), 300)


class AliasInline(TabularInline):
    """The names of authors who were merged into this one. An alias that is deleted leads nowhere any more."""

    model = AuthorAlias
    fields = readonly_fields = ["name"]
    extra = 0
    hide_title = True

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("catalog.view_author") or request.user.has_perm("catalog.change_author")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("catalog.change_author")


@admin.register(Author)
class AuthorAdmin(PictureAdminMixin, SerialisedEdits, AuditedAdmin):
    """Authors of books. An action merges several of them into one."""

    form = AuthorForm
    action_form = AuthorActionForm
    list_display = ["name", "book_list"]
    fields = ["name", "bio", *PICTURE_FIELDS]
    readonly_fields = ["shown_picture"]
    search_fields = ["name", "aliases__name"]
    ordering = ["name"]
    actions = ["merge"]
    inlines = [AliasInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Author]:
        return annotate_book_counts(super().get_queryset(request), Book.authors.through, "author_id")

    @display(description=_("books"))
    def book_list(self, author: Author) -> str:
        return link_to_books("authors__id__exact", author)

    @admin.action(description=_("Merge selected authors into the author named"), permissions=["change", "delete"])
    def merge(self, request: HttpRequest, authors: QuerySet[Author]) -> HttpResponse | None:
        """Merge authors. First ask for a confirmation, because a merge cannot be undone."""
        selected = self.chosen(request, authors)
        if not selected:
            return None
        typed = " ".join(request.POST.get("author", "").replace("\0", "").split())
        found = find_authors_named(typed) if typed else []
        if len(found) != 1:
            return self._ask_for_name(request, selected, typed, found)
        (into,) = found
        chosen = [author for author in selected if author != into]
        if not chosen:
            text = gettext("“%(name)s” cannot be merged into itself.") % {"name": into.name}
            return self._ask(request, selected, typed, text)
        if not is_confirmed(request):
            effect = EFFECT % {"name": into.name}
            question = Question("merge", _("Merge these authors?"), effect, _("Merge authors"), {"author": into.name})
            return ask_for_confirmation(self, request, question, [(author, author.name) for author in chosen])
        names = ", ".join(author.name for author in chosen)
        log_rows(request, [into], CHANGE, gettext("Merged authors: %(names)s.") % {"names": names})
        count = merge_authors(Author.objects.filter(pk__in=[author.pk for author in chosen]), into)
        text = ngettext("%(n)d author was merged into “%(name)s”.", "%(n)d authors were merged into “%(name)s”.", count)
        self.done(request, text, count, name=into.name)
        return None

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the list. The field of the action completes the names in it."""
        response = super().changelist_view(request, extra_context)
        context = getattr(response, "context_data", None) or {}
        if context.get("action_form") and "cl" in context:
            context["action_form"].fields["author"].widget.names = [row.name for row in context["cl"].result_list]
        return response

    def _ask_for_name(
        self, request: HttpRequest, selected: Sequence[Author], typed: str, found: Sequence[Author]
    ) -> HttpResponse:
        """Return the page that asks again for the name of an author, with the selected ones."""
        if not typed:
            text = gettext("Enter the name of an author.")
        elif found:
            text = gettext("Several authors are called “%(name)s”. Choose one spelling.") % {"name": typed}
        else:
            text = gettext("There is no author called “%(name)s”.") % {"name": typed}
        return self._ask(request, selected, typed, text, [author.name for author in found])

    def _ask(
        self, request: HttpRequest, selected: Sequence[Author], typed: str, error: str, names: Sequence[str] = ()
    ) -> HttpResponse:
        field = CompletedInput(attrs={"aria-label": gettext("author"), "class": INPUT_CLASSES, "maxlength": 300})
        field.names = names or [*(suggest_author_names(typed) if typed else []), *(row.name for row in selected)]
        question = Question(
            "merge", _("Merge these authors?"), "", _("Continue"), {}, error, field.render("author", typed)
        )
        return ask_for_confirmation(self, request, question, [(author, author.name) for author in selected])
