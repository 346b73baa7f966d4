"""Authors in the admin."""

from typing import Any, Final

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import TabularInline
from unfold.decorators import display
from unfold.forms import ActionForm

from accounts.admin_tools import AuditedAdmin, Question, ask_for_confirmation, is_confirmed
from accounts.audit.log import log_rows
from catalog.admin.base import annotate_book_counts, link_to_books, make_name_field
from catalog.authors.merging import merge_authors
from catalog.models import Author, AuthorAlias, Book
from catalog.pictures.admin import PICTURE_FIELDS, AuthorForm, PictureAdminMixin

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
class AuthorAdmin(PictureAdminMixin, AuditedAdmin):
    """Authors of books. An action merges several of them into one."""

    form = AuthorForm
    action_form = AuthorActionForm
    list_display = ["name", "book_list"]
    fields = ["name", "bio", *PICTURE_FIELDS]
    readonly_fields = ["shown_picture"]
    search_fields = ["name"]
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
        into = self._find_named_author(request)
        if into is None:
            return None
        others = authors.exclude(pk=into.pk)
        if authors.exists() and not others.exists():
            text = gettext("“%(name)s” cannot be merged into itself.") % {"name": into.name}
            self.message_user(request, text, messages.WARNING)
            return None
        chosen = self.chosen(request, others)
        if not chosen:
            return None
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

    def _find_named_author(self, request: HttpRequest) -> Author | None:
        """Return the author with the name of the form, or the one into which the author of that name was merged.

        If none has it, show a message and return None.
        """
        name = " ".join(request.POST.get("author", "").replace("\0", "").split())
        if not name:
            self.message_user(request, gettext("Enter the name of an author next to the action."), messages.WARNING)
            return None
        author: Author | None = Author.objects.filter(name=name).first()
        if author is None and (alias := AuthorAlias.objects.filter(name=name).select_related("author").first()):
            return alias.author
        if author is None:
            text = gettext("There is no author called “%(name)s”.") % {"name": name}
            self.message_user(request, text, messages.WARNING)
        return author
