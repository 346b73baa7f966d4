"""The page that shows the parts of all pages, for those who build pages."""

import re
from functools import cache
from typing import Final

from django.conf import settings
from django.contrib.staticfiles import finders
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from common.web.visitors import get_visitor

COLOURS: Final = (
    "paper",
    "sheet",
    "shade",
    "line",
    "edge",
    "ink",
    "soft",
    "accent",
    "accent-wash",
    "good",
    "good-wash",
)
SIZES: Final = ("title-1", "title-2", "title-3", "text", "less", "small")
_symbol_pattern: Final = re.compile(r'<symbol id="([a-z-]+)"')


@require_safe
@never_cache
def style_guide(request: HttpRequest) -> HttpResponse:
    """Show colours, sizes, icons and parts with their class names. Raises Http404 unless DEBUG is set or staff ask."""
    if not settings.DEBUG and not getattr(get_visitor(request), "is_staff", False):
        raise Http404
    context = {"colours": COLOURS, "sizes": SIZES, "icons": _list_icons()}
    return render(request, "pages/styleguide.html", context)


@cache
def _list_icons() -> list[str]:
    found = finders.find("icons.svg")
    assert isinstance(found, str)
    with open(found, encoding="utf-8") as file:
        return _symbol_pattern.findall(file.read())


urlpatterns = [path("styleguide/", style_guide, name="style_guide")]
