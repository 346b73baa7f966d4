"""Books in the admin."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import TabularInline
from unfold.decorators import display

from accounts.admin_tools import Column, ExportAdmin, PermittedLinks, RelatedRowsAdmin, SerialisedEdits
from accounts.audit.log import log_rows
from catalog.admin.base import TagActionAdmin
from catalog.admin.book_form import BookForm
from catalog.admin.book_import import BookImportAdmin
from catalog.admin.filters import LanguageFilter, YearFilter
from catalog.details.admin import BookDetailsInline
from catalog.importer.current import (
    COLUMNS,
    DETAIL_FIELDS,
    FORM_FIELDS,
    join_names,
    load_author_names,
    load_tag_names,
)
from catalog.models import Book, Tagging
from catalog.pictures.admin import PICTURE_FIELDS, PictureAdminMixin
from catalog.tags import services
from catalog.tags.aliases import find_meant
from catalog.values.isbns import normalise_isbn


class TaggingInline(PermittedLinks, TabularInline):
    """The tags of a book. Permission to change the book includes permission to change its tags."""

    model = Tagging
    autocomplete_fields = ["tag"]
    extra = 0
    ordering = ["-imported_count", "pk"]
    per_page = 20
    tab = True

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return request.user.has_perm("catalog.view_book") or request.user.has_perm("catalog.change_book")

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return request.user.has_perm("catalog.change_book")

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self.has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self.has_change_permission(request, obj)


def _has_product(book: Book) -> bool:
    """Return whether the shop has the book, so that orders and carts may name it. Its models are not known here."""
    return hasattr(book, "product")


def _make_column(name: str) -> Column:
    """Return the column of the download that an import may change."""
    if name == "authors":
        return Column(name, load=lambda ids: _join_all(load_author_names(ids)))
    if name == "tags":
        return Column(name, load=lambda ids: _join_all(load_tag_names(ids)))
    return Column(name, f"details__{name}" if name in DETAIL_FIELDS else name)


def _join_all(names: Mapping[int, Sequence[str]]) -> dict[int, str]:
    return {pk: join_names(some) for pk, some in names.items()}


@admin.register(Book)
class BookAdmin(PictureAdminMixin, SerialisedEdits, BookImportAdmin, RelatedRowsAdmin, ExportAdmin, TagActionAdmin):
    """Books, with links to their products and sales. Actions add a tag to many books, or remove it from them."""

    form = BookForm
    inlines = [BookDetailsInline, TaggingInline]

    list_display = ["name", "author_names", "year", "popularity", "rating"]
    list_filter = [YearFilter, LanguageFilter]
    linked_lookups = ["tags__id__exact", "authors__id__exact"]  # links in the lists of tags and authors
    search_fields = ["title", "original_title", "isbn", "authors__name"]
    autocomplete_fields = ["authors"]
    readonly_fields = ["goodreads_id", "shown_picture"]
    fields = [*FORM_FIELDS, "popularity", "rating", "goodreads_id", *PICTURE_FIELDS]
    actions = ["add_tag", "remove_tag", "export_csv"]
    export_columns = [
        Column("id", "pk"),
        *map(_make_column, COLUMNS),
        Column("popularity", "popularity"),
        Column("rating", "rating"),
    ]
    ordering = ["-popularity", "pk"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Book]:
        return super().get_queryset(request).prefetch_related("authors")

    def has_delete_permission(self, request: HttpRequest, obj: Book | None = None) -> bool:
        """Allow to delete only books that the shop never sold, one by one; the others are withdrawn from sale."""
        return obj is not None and not _has_product(obj) and super().has_delete_permission(request, obj)

    def get_search_results(self, request: HttpRequest, queryset: QuerySet[Any], search_term: str) -> Any:
        return super().get_search_results(request, queryset, normalise_isbn(search_term))

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        """Save the details or the tags of a book. Removing a tag also removes the votes for it."""
        super().save_formset(request, form, formset, change)
        if formset.model is not Tagging:
            return
        # Otherwise votes would be left for a tag that the book no longer has.
        for tagging in formset.deleted_objects:
            services.remove_tag_from_books(Book.objects.filter(pk=tagging.book_id), tagging.tag)

    @display(description=_("title"), ordering="title_key")
    def name(self, book: Book) -> str:
        """Return the title. The column is sorted without leading articles."""
        return book.title

    @display(description=_("authors"))
    def author_names(self, book: Book) -> str:
        return ", ".join(author.name for author in book.authors.all())

    @admin.action(description=_("Add a tag to selected books"), permissions=["change"])
    def add_tag(self, request: HttpRequest, books: QuerySet[Book]) -> None:
        if typed := self.get_tag_name(request):
            name = find_meant([typed]).get(typed, typed)
            log_rows(request, books, CHANGE, gettext("Added the tag “%(name)s”.") % {"name": name})
            count = services.add_tag_to_books(books, name)
            text = ngettext("%(n)d book was tagged “%(name)s”.", "%(n)d books were tagged “%(name)s”.", count)
            self.message_user(request, text % {"n": count, "name": name}, messages.SUCCESS)

    @admin.action(description=_("Remove a tag from selected books"), permissions=["change"])
    def remove_tag(self, request: HttpRequest, books: QuerySet[Book]) -> None:
        if tag := self.find_named_tag(request):
            log_rows(request, books, CHANGE, gettext("Removed the tag “%(name)s”.") % {"name": tag.name})
            count = services.remove_tag_from_books(books, tag)
            text = ngettext(
                "The tag “%(name)s” was removed from %(n)d book.",
                "The tag “%(name)s” was removed from %(n)d books.",
                count,
            )
            self.message_user(request, text % {"n": count, "name": tag.name}, messages.SUCCESS)
