"""Follows, blocks, mutes and pulled authors in the admin, and links to posts and follows on a user's page."""

from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.models import DELETION
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.decorators import display

from accounts.admin_tools import BigTableAdmin, count_related, register_related_rows
from accounts.models import User
from common.text import fold
from social.models import Block, Follow, Mute, Post, Pulled
from social.services import people


class _RelationAdmin(BigTableAdmin):
    """A relation between two readers. Staff can view and end it but not modify it."""

    ends: ClassVar[tuple[str, str]]
    actions = ["end_selected"]
    # The admin shows a search box only if this is not empty.
    search_fields = ["pk"]
    search_help_text = _("the exact name of either reader")

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Model], search_term: str
    ) -> tuple[QuerySet[Model], bool]:
        if not search_term.strip():
            return queryset, False
        who = User.objects.filter(name_key=fold(search_term.strip())).values_list("pk", flat=True).first() or 0
        first, second = self.ends
        return queryset.filter(Q(**{first: who}) | Q(**{second: who})), False

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.end(*(getattr(obj, f"{end}_id") for end in self.ends))

    def end(self, who: int, whom: int) -> bool:
        """End the relation through the service. Return whether it existed."""
        raise NotImplementedError

    @admin.action(description=_("Remove selected rows"), permissions=["delete"])
    def end_selected(self, request: HttpRequest, rows: QuerySet[Any]) -> None:
        found = self.chosen(request, rows)
        self.log(request, found, DELETION, "")
        for row in found:
            self.delete_model(request, row)
        self.done(request, ngettext("%(n)d was removed.", "%(n)d were removed.", len(found)), len(found))


@admin.register(Follow)
class FollowAdmin(_RelationAdmin):
    """Follows, with a search by the exact name of either reader."""

    ends = ("follower", "followee")
    linked_lookups = ["follower__id__exact", "followee__id__exact"]  # links on a user's page
    fields = readonly_fields = list_display = [*ends, "created_at"]
    list_select_related = list(ends)

    def end(self, who: int, whom: int) -> bool:
        return people.unfollow(who, whom)


@admin.register(Block)
class BlockAdmin(_RelationAdmin):
    """Blocks, with a search by the exact name of either reader."""

    ends = ("blocker", "blocked")
    linked_lookups = ["blocker__id__exact", "blocked__id__exact"]
    fields = readonly_fields = list_display = [*ends, "created_at"]
    list_select_related = list(ends)

    def end(self, who: int, whom: int) -> bool:
        return people.unblock(who, whom)


@admin.register(Mute)
class MuteAdmin(_RelationAdmin):
    """Mutes, with a search by the exact name of either reader."""

    ends = ("user", "muted")
    linked_lookups = ["user__id__exact", "muted__id__exact"]
    fields = readonly_fields = list_display = [*ends, "created_at"]
    list_select_related = list(ends)

    def end(self, who: int, whom: int) -> bool:
        return people.unmute(who, whom)


@admin.register(Pulled)
class PulledAdmin(BigTableAdmin):
    """Pulled authors. The list is read-only, because the number of followers decides."""

    list_display = ["user", "status", "turned_at"]
    list_select_related = ["user"]
    list_filter = ["state"]
    search_fields = ["=user__username"]
    search_help_text = _("the exact name")
    fields = readonly_fields = ["user", "status", "turned_at"]

    def has_change_permission(self, request: HttpRequest, obj: Pulled | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Pulled | None = None) -> bool:
        return False

    @display(description=_("state"), label={"turning": "warning", "on": "info", "eased": "success"})
    def status(self, pulled: Pulled) -> tuple[str, Any]:
        return pulled.state, pulled.get_state_display()


register_related_rows(
    User,
    count_related(_("posts"), lambda pk: Post.objects.filter(user=pk), "user__id__exact"),
    count_related(_("followers"), lambda pk: Follow.objects.filter(followee=pk), "followee__id__exact"),
    count_related(_("followed"), lambda pk: Follow.objects.filter(follower=pk), "follower__id__exact"),
)
