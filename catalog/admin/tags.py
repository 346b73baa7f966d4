"""Tags and their aliases in the admin."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE
from django.db.models import Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from accounts.admin_tools import AuditedAdmin
from accounts.audit.log import log_rows
from catalog.admin.base import TagActionAdmin, annotate_book_counts, link_to_books
from catalog.models import Tag, TagAlias, Tagging
from catalog.names import normalise
from catalog.tags import aliases, services


class TagRowForm(forms.ModelForm):
    """A row of the list of tags, with a name for its switch."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        hidden = self.fields["hidden"]
        hidden.widget.attrs["aria-label"] = f"{self.instance.name}: {hidden.label}"
        # Without the shown value, a list that was opened earlier would show tags again that staff have hidden since.
        hidden.show_hidden_initial = True


class TagForm(forms.ModelForm):
    """The form of a tag."""

    def clean_name(self) -> str:
        """Refuse the name of an alias, because imports and readers mean its tag by it."""
        name = str(self.cleaned_data["name"])
        alias = TagAlias.objects.filter(name=normalise(name)).select_related("tag").first()
        if alias and "name" in self.changed_data:
            text = gettext("“%(name)s” is an alias of the tag “%(tag)s”.")
            raise forms.ValidationError(text % {"name": alias.name, "tag": alias.tag.name})
        return name


@admin.register(Tag)
class TagAdmin(TagActionAdmin):
    """Tags. Editing a tag renames it; an action merges several tags into one, and their names become its aliases."""

    form = TagForm
    list_display = ["name", "book_list", "hidden"]
    list_editable = ["hidden"]
    list_filter = ["hidden"]
    search_fields = ["name"]
    ordering = ["name"]
    actions = ["merge"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tag]:
        return annotate_book_counts(super().get_queryset(request), Tagging, "tag_id")

    def get_changelist_form(self, request: HttpRequest, **kwargs: Any) -> Any:
        return super().get_changelist_form(request, form=TagRowForm, **kwargs)

    @display(description=_("books"))
    def book_list(self, tag: Tag) -> str:
        return link_to_books("tags__id__exact", tag)

    @admin.action(description=_("Merge selected tags into the tag named"), permissions=["change", "delete"])
    def merge(self, request: HttpRequest, tags: QuerySet[Tag]) -> None:
        if into := self.find_named_tag(request):
            names = list(tags.exclude(pk=into.pk).values_list("name", flat=True)[:20])
            count = services.merge_tags(tags, into)
            merged = ", ".join(names) + (", …" if count > len(names) else "")
            log_rows(request, [into], CHANGE, gettext("Merged tags: %(names)s.") % {"names": merged})
            text = ngettext("%(n)d tag was merged into “%(name)s”.", "%(n)d tags were merged into “%(name)s”.", count)
            self.message_user(request, text % {"n": count, "name": into.name}, messages.SUCCESS)


class AliasForm(forms.ModelForm):
    """The form of an alias of a tag."""

    class Meta:
        help_texts: ClassVar = {"name": _("If there is a tag with this name, saving merges it into the tag below.")}

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
        count = aliases.save_alias(obj)
        if count is not None:
            log_rows(request, [obj.tag], CHANGE, gettext("Merged tags: %(names)s.") % {"names": obj.name})
            text = ngettext(
                "The tag “%(name)s” of %(n)d book was merged into “%(tag)s”.",
                "The tag “%(name)s” of %(n)d books was merged into “%(tag)s”.",
                count,
            )
            values = {"n": count, "name": obj.name, "tag": obj.tag.name}
            self.message_user(request, text % values, messages.WARNING)

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
