"""Books on shelves in the admin: the rows that everyone may see, read-only."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from accounts.admin_tools import BigTableAdmin
from catalog.shelves.models import ShelfEntry
from catalog.shelves.records import count_stars, find_public_entries
from common.text import fold


@admin.register(ShelfEntry)
class ShelfEntryAdmin(BigTableAdmin):
    """Books and ratings on public shelves, with a search by the exact name of the reader.

    Nobody else sees a shelf that a reader has restricted, not even superusers.
    """

    fields = readonly_fields = list_display = [
        "user",
        "book",
        "shelf",
        "rating",
        "shelved_on",
        "started_on",
        "finished_on",
    ]
    list_select_related = ["user", "book"]
    search_fields = ["pk"]  # the admin shows a search box only if this is not empty
    search_help_text = _("the exact name of the reader")

    @display(description=_("stars"), ordering="stars")
    def rating(self, entry: ShelfEntry) -> float | None:
        return count_stars(entry.stars)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ShelfEntry]:
        return find_public_entries().order_by("-pk")

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        wanted = search_term.strip()
        return (queryset.filter(user__name_key=fold(wanted)) if wanted else queryset), False

    def has_change_permission(self, request: HttpRequest, obj: ShelfEntry | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: ShelfEntry | None = None) -> bool:
        return False
