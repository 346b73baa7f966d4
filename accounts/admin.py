"""Users and groups in the admin."""

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from accounts.models import User

admin.site.unregister(Group)


@admin.register(User)
class UserAdmin(DjangoUserAdmin, ModelAdmin):
    """People, with their type."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ["username", "user_type", "email", "is_staff", "is_active", "date_joined"]
    list_filter = ["user_type", "is_staff", "is_superuser", "is_active"]
    search_fields = ["username", "email"]
    ordering = ["username"]
    show_full_result_count = False
    filter_horizontal = []  # too wide for the page beside unfold's sidebar
    autocomplete_fields = ["groups"]
    fieldsets = [
        (None, {"fields": ["username", "user_type", "password"]}),
        (_("Personal info"), {"fields": ["first_name", "last_name", "email"]}),
        (
            _("Permissions"),
            {"fields": ["is_active", "is_staff", "is_superuser", "groups", "user_permissions"]},
        ),
        (_("Important dates"), {"fields": ["date_joined"]}),
    ]
    readonly_fields = ["date_joined"]
    add_fieldsets = [
        (None, {"fields": ["username", "user_type", "usable_password", "password1", "password2"]}),
    ]


@admin.register(Group)
class GroupAdmin(DjangoGroupAdmin, ModelAdmin):
    """Groups, which give staff their permissions."""
