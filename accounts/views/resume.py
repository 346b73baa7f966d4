"""The page that submits a form again that was kept during a login."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from common.web import personal_page, redirect_to_view, take_form


@require_GET
@personal_page
def resume(request: HttpRequest, key: str) -> HttpResponse:
    """Show the kept form ``key``, which a script submits at once unless the reader has to confirm it.

    The front page, if it was submitted already, or is another reader's.
    """
    form = take_form(request, key)
    if form is None:
        return redirect_to_view("home")
    return render(request, "accounts/resume.html", {"form": form})
