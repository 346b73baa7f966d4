"""The details of a book on its page in the admin."""

from django.db.models import Model
from django.http import HttpRequest
from unfold.admin import StackedInline

from accounts.admin_tools import ConcurrentEditForm
from catalog.details.models import BookDetails


class BookDetailsInline(StackedInline):
    """The details of a book. Permission to change the book includes permission to change its details."""

    model = BookDetails
    form = ConcurrentEditForm
    autocomplete_fields = ["translators", "illustrators"]
    tab = True

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return request.user.has_perm("catalog.view_book") or request.user.has_perm("catalog.change_book")

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return request.user.has_perm("catalog.change_book")

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self.has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self.has_change_permission(request, obj)
