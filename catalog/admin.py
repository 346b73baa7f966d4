"""Books, authors and tags in the admin."""

from collections.abc import Iterable
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE
from django.core.exceptions import ValidationError
from django.db.models import Count, IntegerField, Model, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.forms import ModelForm
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import TabularInline
from unfold.decorators import display
from unfold.forms import ActionForm

from accounts.admin_tools import AuditedAdmin
from accounts.audit.log import log_rows
from catalog.books.languages import CODES_BY_THREE_LETTERS, find_spellings, get_language_name, normalise_code
from catalog.details.admin import BookDetailsInline
from catalog.models import Author, Book, Tag, TagAlias, Tagging
from catalog.names import normalise
from catalog.pictures.admin import PICTURE_FIELDS, AuthorForm, BookForm, PictureAdminMixin
from catalog.shelves import admin as _shelves  # noqa: F401  (registers its pages)
from catalog.tags import aliases, services
from catalog.values.isbns import normalise_isbn

TAG_FIELD_CLASSES = "bg-white/20 font-medium px-2 py-1 rounded-default text-sm placeholder:text-current"


class TagActionForm(ActionForm):
    """The form of an action, with a field for the name of a tag."""

    tag = forms.CharField(
        label="",
        required=False,
        max_length=200,
        widget=forms.TextInput(
            attrs={"placeholder": _("tag"), "aria-label": _("tag"), "class": TAG_FIELD_CLASSES, "x-show": "action"}
        ),
    )


class TagActionAdmin(AuditedAdmin):
    """A model admin with actions that take the name of a tag."""

    action_form = TagActionForm

    def _name(self, request: HttpRequest) -> str:
        """Return the normalised name of the form. For an invalid name, show a message and return ""."""
        try:
            typed = forms.CharField(max_length=200).clean(request.POST.get("tag"))
            return str(Tag._meta.get_field("name").clean(typed, None))
        except ValidationError:
            text = gettext("Enter the name of a tag next to the action.")
            self.message_user(request, text, messages.WARNING)
            return ""

    def _find_named_tag(self, request: HttpRequest) -> Tag | None:
        """Return the tag with the name of the form. If it does not exist, show a message and return None."""
        name = self._name(request)
        tag: Tag | None = Tag.objects.filter(name=name).first() if name else None
        if name and tag is None:
            text = gettext("There is no tag called “%(name)s”.") % {"name": name}
            self.message_user(request, text, messages.WARNING)
        return tag


def _log_changes(request: HttpRequest, rows: Iterable[Model], message: str) -> None:
    """Log a change of each of ``rows``, in a few statements."""
    log_rows(request, rows, CHANGE, message)


class YearFilter(admin.SimpleListFilter):
    """A filter by the year of first publication."""

    title = _("year")
    parameter_name = "years"
    RANGES: ClassVar[dict[str, dict[str, Any]]] = {
        "unknown": {"year__isnull": True},
        "bc": {"year__lt": 0},
        "1899": {"year__gte": 0, "year__lt": 1900},
        "1999": {"year__gte": 1900, "year__lt": 2000},
        "now": {"year__gte": 2000},
    }

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, Any]]:
        return [
            ("now", _("since 2000")),
            ("1999", _("20th century")),
            ("1899", _("before 1900")),
            ("bc", _("BC")),
            ("unknown", _("unknown")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Book]) -> QuerySet[Book]:
        return queryset.filter(**self.RANGES.get(self.value() or "", {}))


class LanguageFilter(admin.SimpleListFilter):
    """A filter by language. Its choices are known languages: those of all books would be read from the whole table."""

    title = _("language")
    parameter_name = "language"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, Any]]:
        codes = {normalise_code(code) for code in CODES_BY_THREE_LETTERS}
        choices = [(code, get_language_name(code)) for code in codes]
        return sorted(choices, key=lambda choice: choice[1])

    def queryset(self, request: HttpRequest, queryset: QuerySet[Book]) -> QuerySet[Book]:
        value = self.value()
        if not value:
            return queryset
        condition = Q()
        for code in find_spellings(value):
            condition |= Q(language__iexact=code) | Q(language__istartswith=f"{code}-")
        return queryset.filter(condition)


class TaggingInline(TabularInline):
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


@admin.register(Book)
class BookAdmin(PictureAdminMixin, TagActionAdmin):
    """Books. Actions add a tag to many books, or remove it from them."""

    form = BookForm
    inlines = [BookDetailsInline, TaggingInline]

    list_display = ["name", "author_names", "year", "popularity", "rating"]
    list_filter = [YearFilter, LanguageFilter]
    linked_lookups = ["tags__id__exact", "authors__id__exact"]  # links in the lists of tags and authors
    search_fields = ["title", "original_title", "isbn", "authors__name"]
    autocomplete_fields = ["authors"]
    readonly_fields = ["goodreads_id", "product_page", "shown_picture"]
    fields = [
        "title",
        "original_title",
        "authors",
        "year",
        "language",
        "isbn",
        "pages",
        "popularity",
        "rating",
        "goodreads_id",
        *PICTURE_FIELDS,
    ]
    actions = ["add_tag", "remove_tag"]
    ordering = ["-popularity", "pk"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Book]:
        return super().get_queryset(request).prefetch_related("authors")

    def has_delete_permission(self, request: HttpRequest, obj: Book | None = None) -> bool:
        """Allow to delete only books that the shop never sold, one by one; the others are withdrawn from sale."""
        return obj is not None and not _has_product(obj) and super().has_delete_permission(request, obj)

    def get_fields(self, request: HttpRequest, obj: Book | None = None) -> Any:
        # A copy: Django returns the list of the class itself.
        fields = list(super().get_fields(request, obj))
        if obj is not None and _has_product(obj):
            fields.append("product_page")
        return fields

    @display(description=_("for sale"))
    def product_page(self, book: Book) -> str:
        """Return a link to the page that withdraws the book from sale."""
        address = reverse("admin:shop_product_change", args=[book.pk])
        return format_html('<a class="underline" href="{}">{}</a>', address, gettext("Price, stock and withdrawal"))

    def get_search_results(self, request: HttpRequest, queryset: QuerySet[Any], search_term: str) -> Any:
        return super().get_search_results(request, queryset, normalise_isbn(search_term))

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        """Save the tags of a book. Removing a tag also removes the votes for it."""
        super().save_formset(request, form, formset, change)
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
        if name := self._name(request):
            _log_changes(request, books, gettext("Added the tag “%(name)s”.") % {"name": name})
            count = services.add_tag_to_books(books, name)
            text = ngettext("%(n)d book was tagged “%(name)s”.", "%(n)d books were tagged “%(name)s”.", count)
            self.message_user(request, text % {"n": count, "name": name}, messages.SUCCESS)

    @admin.action(description=_("Remove a tag from selected books"), permissions=["change"])
    def remove_tag(self, request: HttpRequest, books: QuerySet[Book]) -> None:
        if tag := self._find_named_tag(request):
            _log_changes(request, books, gettext("Removed the tag “%(name)s”.") % {"name": tag.name})
            count = services.remove_tag_from_books(books, tag)
            text = ngettext(
                "The tag “%(name)s” was removed from %(n)d book.",
                "The tag “%(name)s” was removed from %(n)d books.",
                count,
            )
            self.message_user(request, text % {"n": count, "name": tag.name}, messages.SUCCESS)


def _annotate_book_counts(rows: QuerySet[Any], links: type[Model], column: str) -> QuerySet[Any]:
    """Return ``rows`` annotated with ``book_count``, which SQL counts for the displayed rows only."""
    counts = links._base_manager.filter(**{column: OuterRef("pk")}).order_by().values(column)
    return rows.annotate(
        book_count=Coalesce(Subquery(counts.annotate(n=Count("pk")).values("n"), output_field=IntegerField()), 0)
    )


def _link_to_books(lookup: str, row: Any) -> str:
    """Return the number of books as a link to the list of these books."""
    address = reverse("admin:catalog_book_changelist")
    return format_html('<a class="underline" href="{}?{}={}">{}</a>', address, lookup, row.pk, row.book_count)


@admin.register(Author)
class AuthorAdmin(PictureAdminMixin, AuditedAdmin):
    """Authors of books."""

    form = AuthorForm
    list_display = ["name", "book_list"]
    fields = ["name", "bio", *PICTURE_FIELDS]
    readonly_fields = ["shown_picture"]
    search_fields = ["name"]
    ordering = ["name"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Author]:
        return _annotate_book_counts(super().get_queryset(request), Book.authors.through, "author_id")

    @display(description=_("books"))
    def book_list(self, author: Author) -> str:
        return _link_to_books("authors__id__exact", author)


class TagRowForm(forms.ModelForm):
    """A row of the list of tags, with a name for its switch."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        hidden = self.fields["hidden"]
        hidden.widget.attrs["aria-label"] = f"{self.instance.name}: {hidden.label}"


@admin.register(Tag)
class TagAdmin(TagActionAdmin):
    """Tags. Editing a tag renames it; an action merges several tags into one."""

    list_display = ["name", "book_list", "hidden"]
    list_editable = ["hidden"]
    list_filter = ["hidden"]
    search_fields = ["name"]
    ordering = ["name"]
    actions = ["merge"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tag]:
        return _annotate_book_counts(super().get_queryset(request), Tagging, "tag_id")

    def get_changelist_form(self, request: HttpRequest, **kwargs: Any) -> Any:
        return super().get_changelist_form(request, form=TagRowForm, **kwargs)

    @display(description=_("books"))
    def book_list(self, tag: Tag) -> str:
        return _link_to_books("tags__id__exact", tag)

    @admin.action(description=_("Merge selected tags into the tag named"), permissions=["change", "delete"])
    def merge(self, request: HttpRequest, tags: QuerySet[Tag]) -> None:
        if into := self._find_named_tag(request):
            names = list(tags.exclude(pk=into.pk).values_list("name", flat=True)[:20])
            count = services.merge_tags(tags, into)
            merged = ", ".join(names) + (", …" if count > len(names) else "")
            _log_changes(request, [into], gettext("Merged tags: %(names)s.") % {"names": merged})
            text = ngettext("%(n)d tag was merged into “%(name)s”.", "%(n)d tags were merged into “%(name)s”.", count)
            self.message_user(request, text % {"n": count, "name": into.name}, messages.SUCCESS)


class AliasForm(forms.ModelForm):
    """The form of an alias of a tag."""

    def clean(self) -> dict[str, Any]:
        """Refuse an alias of a tag with the same name, and of a tag with a name that is itself an alias."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        name, tag = normalise(cleaned.get("name", "")), cleaned.get("tag")
        if name and tag and (name == tag.name or TagAlias.objects.filter(name=tag.name).exists()):
            self.add_error("tag", gettext("Choose a tag with a different name that is not an alias itself."))
        return cleaned


@admin.register(TagAlias)
class TagAliasAdmin(AuditedAdmin):
    """Aliases of tags. Saving an alias merges the tag of that name. The permissions of tags apply."""

    form = AliasForm
    list_display = ["name", "tag"]
    list_select_related = ["tag"]
    search_fields = ["name", "tag__name"]
    autocomplete_fields = ["tag"]

    def save_model(self, request: HttpRequest, obj: TagAlias, form: ModelForm, change: bool) -> None:
        aliases.save_alias(obj)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return request.user.has_perm("catalog.view_tag") or request.user.has_perm("catalog.change_tag")

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return request.user.has_perms(["catalog.change_tag", "catalog.delete_tag"])

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.has_change_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self.has_change_permission(request)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)
