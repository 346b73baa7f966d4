"""The base of admin pages and columns: of django-unfold in sites that install it, otherwise of Django's admin."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.apps import apps
from django.contrib import admin

if apps.is_installed("unfold"):
    from unfold.admin import ModelAdmin
    from unfold.decorators import display
    from unfold.views import ChangeList

    # unfold finds the template of the paging by the paginator.
    LIST_TEMPLATE = None
else:
    from django.contrib.admin import ModelAdmin
    from django.contrib.admin.views.main import ChangeList

    LIST_TEMPLATE = "mirror/admin/change_list.html"

    def display(*, description: Any, label: object = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Describe a column. label: the column returns a state, which unfold shows as a colour, and the text."""

        def decorate(column: Callable[..., Any]) -> Callable[..., Any]:
            @wraps(column)
            def show(page: Any, row: Any) -> Any:
                return column(page, row)[1] if label else column(page, row)

            return admin.display(description=description)(show)

        return decorate


__all__ = ["LIST_TEMPLATE", "ChangeList", "ModelAdmin", "display"]
