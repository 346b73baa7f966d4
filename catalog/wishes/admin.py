"""Wishes in the admin, newest first, with actions for the decision."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.admin_tools import BigTableAdmin
from catalog.wishes import services
from catalog.wishes.models import BookWish, State


@admin.register(BookWish)
class BookWishAdmin(BigTableAdmin):
    """Wishes of readers. Staff who may change books decide about them, and change nothing that readers wrote."""

    list_display = ["title", "note", "user", "state", "created_at"]
    list_select_related = ["user"]
    list_filter = ["state"]
    search_fields = ["title"]
    fields = ["title", "note", "user", "created_at", "state"]
    readonly_fields = ["title", "note", "user", "created_at"]
    ordering = ["-pk"]
    actions = ["fulfil", "decline"]

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: BookWish | None = None) -> bool:
        return request.user.has_perm("catalog.change_book")

    def has_change_permission(self, request: HttpRequest, obj: BookWish | None = None) -> bool:
        return request.user.has_perm("catalog.change_book")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    @admin.action(description=_("Mark as fulfilled"), permissions=["change"])
    def fulfil(self, request: HttpRequest, wishes: QuerySet[Any]) -> None:
        self._decide(request, wishes, State.FULFILLED)

    @admin.action(description=_("Mark as declined"), permissions=["change"])
    def decline(self, request: HttpRequest, wishes: QuerySet[Any]) -> None:
        self._decide(request, wishes, State.DECLINED)

    def _decide(self, request: HttpRequest, wishes: QuerySet[Any], state: State) -> None:
        count = services.decide(wishes, state)
        text = ngettext("%(n)d wish was changed.", "%(n)d wishes were changed.", count)
        self.message_user(request, text % {"n": count}, messages.SUCCESS)
