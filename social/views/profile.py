"""The page on which readers change their profile, and the files of pictures."""

from typing import Any, Final

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from accounts.ratelimit import count_at_rates
from accounts.views import render_too_often
from catalog.search.selectors import search
from common.ids import MAX_ID, parse_id
from common.paths import make_path
from common.pictures import MAX_BYTES, PictureTooLarge
from common.refusals import Refused
from common.web import accept_files, get_user_id, personal_page, redirect_to_view
from social.profiles import services
from social.profiles.forms import MAX_LINKS, ProfileForm
from social.profiles.pictures import AVATARS
from social.profiles.selectors import read_about
from social.relations.profiles import get_profile

# Decoding takes up to a second, so a reader may upload few pictures: (number, seconds).
PICTURE_RATES: Final = ((10, 3600), (30, 86_400))
MAX_FOUND: Final = 8  # books to choose from


@accept_files(MAX_BYTES)
@require_http_methods(["GET", "HEAD", "POST"])
@personal_page
def edit_profile(request: HttpRequest) -> HttpResponse:
    """Show the forms (``?book_search=`` finds favourite books). POST ``action`` changes one part of the profile."""
    user_id = get_user_id(request)
    if request.method != "POST":
        return _render_forms(request)
    match request.POST.get("action"):
        case "texts":
            form = ProfileForm(request.POST)
            if not form.is_valid():
                return _render_forms(request, form)
            services.set_texts(user_id, form.cleaned_data["bio"], form.list_links())
        case "picture":
            return _set_picture(request)
        case "remove_picture":
            services.remove_picture(user_id)
        case "add":
            if not services.add_favourite(user_id, _parse_book(request)):
                messages.error(request, _("Choose at most four different books."))
                return redirect_to_view("social:edit_profile")
        case "remove":
            services.remove_favourite(user_id, _parse_book(request))
    messages.success(request, _("Saved."))
    return redirect_to_view("social:edit_profile")


def _set_picture(request: HttpRequest) -> HttpResponse:
    user_id = get_user_id(request)
    if seconds := count_at_rates("picture", user_id, PICTURE_RATES):
        return render_too_often(request, seconds, make_path("social:edit_profile"))
    file = request.FILES.get("picture")
    if file is None or not file.size:
        return _render_forms(request, error=_("Choose a file."))
    try:
        if file.size > MAX_BYTES:
            raise PictureTooLarge
        services.set_picture(user_id, file.read())
    except Refused as error:
        return _render_forms(request, error=str(error))
    messages.success(request, _("Saved."))
    return redirect_to_view("social:edit_profile")


def _parse_book(request: HttpRequest) -> int:
    return min(parse_id(request.POST.get("book", "")) or 0, MAX_ID)


def _render_forms(request: HttpRequest, form: ProfileForm | None = None, error: str = "") -> HttpResponse:
    user_id, words = get_user_id(request), request.GET.get("book_search", "").strip()
    person = get_profile(user_id, user_id)
    if person is None:
        raise Http404
    about = read_about(person)
    if form is None:
        links = {f"link{number}": link for number, link in enumerate(about.links[:MAX_LINKS], 1)}
        form = ProfileForm(initial={"bio": about.bio, **links})
    shown: dict[str, Any] = {
        "person": person,
        "about": about,
        "form": form,
        "error": error,
        "words": words,
        "books": search(words, user_id, MAX_FOUND).books if words else [],
        "is_full": len(about.favourites) >= services.MAX_FAVOURITES,
    }
    return render(request, "social/edit_profile.html", shown, status=400 if error or form.errors else 200)


@require_safe
def picture(request: HttpRequest, file: str) -> HttpResponseBase:
    """Return a file of a picture."""
    return AVATARS.serve(file)
