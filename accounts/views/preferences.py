"""The page of the preferences."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.forms.preferences import PreferencesForm
from accounts.users.preferences import read_preferences, save_preferences
from common.web import get_user_id, personal_page, redirect_to_view


@require_http_methods(["GET", "HEAD", "POST"])
@personal_page
def preferences(request: HttpRequest) -> HttpResponse:
    """Show and change the preferences."""
    user_id = get_user_id(request)
    if request.method == "POST":
        form = PreferencesForm(request.POST)
        if form.is_valid():
            save_preferences(user_id, form.get_preferences())
            messages.success(request, _("Your preferences were saved."))
            return redirect_to_view("accounts:preferences")
    else:
        stored = read_preferences(user_id)
        initial = {"time_zone": stored.time_zone, "shows_logins": "yes" if stored.shows_logins else ""}
        form = PreferencesForm(initial=initial)
    return render(request, "accounts/preferences.html", {"form": form})
