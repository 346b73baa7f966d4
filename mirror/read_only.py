"""The base of the mirror's admin pages."""

from typing import Any

from django.db.models import Model, QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from mirror.conf import setting


class ReadOnly(ModelAdmin):
    """Nothing can be added, edited or deleted. Actions are for users with permission to change the model."""

    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_act_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may run actions."""
        options = self.model._meta
        return bool(request.user.has_perm(f"{options.app_label}.change_{options.model_name}"))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).using(setting("DATABASE"))
