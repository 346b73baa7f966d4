"""Public lists in the admin, read-only, because staff decide about reports of their names and descriptions."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from accounts.admin_tools import BigTableAdmin
from catalog.lists.models import ReadingList
from catalog.shelves.models import Privacy
from common.text import fold
from mirror.conf import setting


@admin.register(ReadingList)
class ReadingListAdmin(BigTableAdmin):
    """Public lists, with a search by the exact name of the reader. Nobody else sees a list that is restricted."""

    list_display = ["name", "user", "created_at"]
    list_select_related = ["user"]
    fields = readonly_fields = ["name", "user", "description", "created_at"]
    search_fields = ["pk"]  # the admin shows a search box only if this is not empty
    search_help_text = _("the exact name of the reader")

    def get_queryset(self, request: HttpRequest) -> QuerySet[ReadingList]:
        rows = ReadingList.objects.using(setting("DATABASE")).filter(privacy=Privacy.PUBLIC)
        return rows.order_by("-pk")

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        wanted = search_term.strip()
        return (queryset.filter(user__name_key=fold(wanted)) if wanted else queryset), False

    def has_change_permission(self, request: HttpRequest, obj: ReadingList | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: ReadingList | None = None) -> bool:
        # Decisions about reports delete lists: only they tell the reader why.
        return False
