"""The frame around every page: the head of the document, the header and the footer.

Each part is rendered once for the same arguments and language. They are few, so a page pays for its own content.
"""

from functools import cache
from typing import Final
from urllib.parse import urlencode

from django.contrib.auth.base_user import AbstractBaseUser
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import get_script_prefix
from django.utils.safestring import SafeString
from jinja2 import pass_context
from jinja2.runtime import Context

from common.form_parts import render_for
from common.paths import make_path
from common.rendered import remember_rendered
from common.web.appearance import get_theme
from common.web.visitors import get_visitor

MAX_BYTES: Final = 4_000_000  # of each part; a footer takes about 3 kB for each address
LINKED_VIEWS: Final = (
    *("home", "catalog:list", "shop:sale", "social:global", "social:home", "accounts:leaderboard"),
    *("accounts:account", "about", "help", "privacy", "terms"),
)
# The links of the header that other pages mark as well, by view or by app.
_FEED: Final = (
    *("social:home", "social:global", "social:mentions", "social:people", "social:requests", "social:post"),
    *("social:post_history", "social:hashtag"),
)
_BOOKS: Final = ("catalog", "search", "reviews", "wishes", "author", "social:book_posts", "social:author_posts")
_OWN: Final = (
    *("accounts", "loginlog", "notifications:settings", "following", "moderation", "welcome"),
    *("shop:orders", "shop:order", "shop:cancel_order", "shop:return_books", "shop:return_slip", "shop:addresses"),
    *("shop:add_address", "shop:address", "shop:alerts", "social:edit_profile"),
)
_SHELVES: Final = ("shelves", "lists", "library")
# Pages of a reader, which belong to the account for this reader alone.
_OWN_BY_NAME: Final = (
    *("social:person", "social:followers", "social:following"),
    *("social:shelves", "social:statistics", "social:lists"),
)
PARTS: Final = {
    **dict.fromkeys(_FEED, "social:home"),
    **dict.fromkeys(_BOOKS, "catalog:list"),
    **dict.fromkeys(_OWN, "accounts:account"),
    **dict.fromkeys(_SHELVES, "shelves:own"),
}


@cache
def _list_linked_paths(script_prefix: str) -> frozenset[str]:
    """Return the paths that the frame links to. script_prefix: of the thread, which ``make_path`` reads."""
    return frozenset(make_path(view) for view in LINKED_VIEWS)


def _find_here(request: HttpRequest) -> str:
    """Return the path of the current page if the frame links to it, else ""."""
    return request.path if request.path in _list_linked_paths(get_script_prefix()) else ""


def _find_part(request: HttpRequest, visitor: AbstractBaseUser | None) -> str:
    """Return the path of the header's link to the part of the site with the current page, or ""."""
    match = request.resolver_match
    if match is None:
        return _find_here(request)
    if visitor is not None and match.kwargs.get("name") == visitor.get_username():
        return make_path("accounts:account") if match.view_name in _OWN_BY_NAME else _find_here(request)
    view = PARTS.get(match.view_name) or PARTS.get(match.app_name)
    # The header of visitors without a login links to all posts instead of a feed of their own.
    if view == "social:home" and visitor is None:
        view = "social:global"
    return make_path(view) if view else _find_here(request)


@remember_rendered(MAX_BYTES)
def render_head(chosen_theme: str) -> SafeString:
    """Return the beginning of the document's head."""
    return render_to_string("partials/frame_head.html", {"chosen_theme": chosen_theme})


@pass_context
def render_header(context: Context) -> SafeString:
    """Return the beginning of the header, before the visitor's own links."""
    request: HttpRequest = context["request"]
    visitor = get_visitor(request)
    here = get_script_prefix(), _find_part(request, visitor)
    return _render_header(here, str(context.get("search_query") or ""), visitor is not None)


@remember_rendered(MAX_BYTES)
def _render_header(here: tuple[str, str], search_query: str, is_reader: bool) -> SafeString:
    """Return the beginning of the header. here: the script prefix and the path of the marked link."""
    shown = {"here": here[1], "search_query": search_query, "is_reader": is_reader}
    return render_to_string("partials/frame_header.html", shown)


@pass_context
def render_own_links(context: Context) -> SafeString:
    """Return the visitor's own links: the account and the log-out, or the log-in and the registration."""
    request: HttpRequest = context["request"]
    visitor = get_visitor(request)
    if visitor is None:
        return render_for(request, "partials/frame_person.html", {"name": "", "back": find_way_back(request)})
    is_staff = bool(getattr(visitor, "is_staff", False))
    shown = {"name": visitor.get_username(), "user_id": visitor.pk, "is_staff": is_staff, "here": _find_here(request)}
    shown["is_own"] = _find_part(request, visitor) == make_path("accounts:account")
    return render_for(request, "partials/frame_person.html", shown)


def find_way_back(request: HttpRequest) -> str:
    """Return the query string of the page to show after the log-in, or "" for the front page.

    On the pages of accounts, this is the page that ``next`` names; elsewhere it is the current page.
    """
    here = request.get_full_path()
    home = make_path("home")
    if request.path.startswith(make_path("accounts:account")):
        here = request.POST.get("next") or request.GET.get("next") or home
    return "" if here == home else f"?{urlencode({'next': here})}"


@pass_context
def render_footer(context: Context) -> SafeString:
    """Return the footer."""
    request: HttpRequest = context["request"]
    here = get_script_prefix(), _find_here(request)
    return _render_footer(here, get_theme(request), request.get_full_path())


@remember_rendered(MAX_BYTES)
def _render_footer(here: tuple[str, str], chosen_theme: str, address: str) -> SafeString:
    """Return the footer. here: the script prefix and the path of the current page."""
    shown = {"here": here[1], "chosen_theme": chosen_theme, "address": address}
    return render_to_string("partials/frame_footer.html", shown)
