"""Reviews in the admin, read-only. Staff hide and delete the posts of reviews."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from accounts.admin_tools import BigTableAdmin, link_to_rows
from common.text import fold
from social.models import Post
from social.reviews.models import Review


@admin.register(Review)
class ReviewAdmin(BigTableAdmin):
    """Reviews with their whole texts, and a search by the exact name of the reader."""

    list_display = ["excerpt", "user", "book", "language"]
    list_select_related = ["user", "book"]
    fields = readonly_fields = ["shown_by", "user", "book", "text", "language"]
    search_fields = ["pk"]  # the admin shows a search box only if this is not empty
    search_help_text = _("the exact name of the reader")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Review]:
        return super().get_queryset(request).exclude(text="")

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        wanted = search_term.strip()
        return (queryset.filter(user__name_key=fold(wanted)) if wanted else queryset), False

    def has_change_permission(self, request: HttpRequest, obj: Review | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Review | None = None) -> bool:
        return False

    @display(description=_("text"))
    def excerpt(self, review: Review) -> str:
        return review.text[:90]

    @display(description=_("post"))
    def shown_by(self, review: Review) -> SafeString:
        address = reverse("admin:social_post_change", args=[review.pk])
        return link_to_rows(Post, address, review.pk)
