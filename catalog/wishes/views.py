"""The page on which a reader asks for a book."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.ratelimit import count_at_rates
from accounts.views import render_too_often
from catalog.wishes.forms import WishForm
from catalog.wishes.selectors import find_own_wishes
from catalog.wishes.services import ask_for_book
from common.paths import make_path
from common.web import get_user_id, personal_page, redirect_to
from mirror.middleware import done_before


@require_http_methods(["GET", "HEAD", "POST"])
@personal_page
def ask(request: HttpRequest) -> HttpResponse:
    """Show the form of a wish (``?title=``) and the reader's own wishes. POST: record one for staff."""
    if request.method != "POST":
        return _render(request, WishForm(initial={"title": request.GET.get("title", "")}))
    user_id, address = get_user_id(request), make_path("wishes:ask")
    if wait := count_at_rates("wish", user_id, settings.WISH_RATES):
        return render_too_often(request, wait, address)
    form = WishForm(request.POST)
    if not form.is_valid():
        return _render(request, form, status=400)
    if not ask_for_book(user_id, **form.cleaned_data):
        done_before(request)
    messages.success(request, _("Thank you. Staff will look for “%(title)s”.") % {"title": form.cleaned_data["title"]})
    return redirect_to(address)


def _render(request: HttpRequest, form: WishForm, status: int = 200) -> HttpResponse:
    shown = {"form": form, "wishes": find_own_wishes(get_user_id(request))}
    return render(request, "wishes/ask.html", shown, status=status)
