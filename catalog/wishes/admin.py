"""Wishes in the admin, newest first, with actions for the decision."""

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Lower
from django.forms import ModelChoiceField
from django.http import HttpRequest
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.decorators import display
from unfold.widgets import UnfoldAdminTextInputWidget

from accounts.admin_tools import BigTableAdmin
from accounts.models import User
from catalog.wishes import services
from catalog.wishes.models import BookWish, State


class ReaderField(ModelChoiceField):
    """The name of a reader."""

    widget = UnfoldAdminTextInputWidget
    default_error_messages: ClassVar[dict[str, Any]] = {"invalid_choice": _("No reader has this name.")}

    def __init__(self, readers: QuerySet[User], **options: Any) -> None:
        super().__init__(readers, to_field_name="username", **options)

    def to_python(self, value: Any) -> User | None:
        """Return the reader. Raises ValidationError."""
        if "\0" in str(value):  # PostgreSQL refuses to compare with it
            raise ValidationError(self.error_messages["invalid_choice"], code="invalid_choice")
        found: User | None = super().to_python(value)
        return found


@admin.register(BookWish)
class BookWishAdmin(BigTableAdmin):
    """Wishes of readers, without their names, which no decision needs. The permissions of books apply.

    Staff decide about wishes and change nothing that readers wrote. They may enter the wish of a reader who calls.
    """

    list_display = ["title", "note", "readers", "state", "created_at"]
    list_filter = ["state"]
    search_fields = ["title"]
    raw_id_fields = ["user"]  # without buttons that add or change users
    ordering = ["-pk"]
    actions = ["fulfil", "decline"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the wishes, each with the number of readers who ask for this title."""
        same = BookWish.objects.annotate(folded=Lower("title")).filter(folded=Lower(OuterRef("title")))
        counts = same.order_by().values("folded").annotate(count=Count("pk")).values("count")
        return super().get_queryset(request).annotate(reader_count=Subquery(counts))

    @display(description=_("readers"))
    def readers(self, wish: Any) -> int:
        return int(wish.reader_count)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: BookWish | None = None) -> bool:
        return request.user.has_perm("catalog.view_book") or request.user.has_perm("catalog.change_book")

    def has_change_permission(self, request: HttpRequest, obj: BookWish | None = None) -> bool:
        return request.user.has_perm("catalog.change_book")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("catalog.add_book")

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Return a field for the name of the reader: staff of the catalogue may not look readers up."""
        label = capfirst(db_field.verbose_name)
        return ReaderField(User.objects.all(), label=label, help_text=_("the exact name of the reader"))

    def get_fields(self, request: HttpRequest, obj: BookWish | None = None) -> list[str]:
        return ["user", "title", "note"] if obj is None else ["title", "note", "created_at", "state"]

    def get_readonly_fields(self, request: HttpRequest, obj: BookWish | None = None) -> list[str]:
        return [] if obj is None else ["title", "note", "created_at"]

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
