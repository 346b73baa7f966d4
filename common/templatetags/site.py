"""Template tags of the frame around every page. They need no SQL for visitors without a session cookie."""

from functools import cache
from urllib.parse import urlencode

from django import template
from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.forms import BoundField
from django.http import HttpRequest
from django.template.context import Context
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language_info

from common.paths import make_path
from common.web.appearance import get_theme
from common.web.visitors import get_visitor

register = template.Library()

# ``{% path %}`` is ``{% url %}`` at a quarter of its cost: for loops, and for the frame around every page.
register.simple_tag(make_path, name="path")


@register.simple_tag(takes_context=True)
def link_to(context: Context, view: str) -> SafeString:
    """Return the attribute ``href`` with the path of a view, and ``aria-current`` if this is the current page."""
    request: HttpRequest | None = context.get("request")
    path = make_path(view)
    is_here = request is not None and request.path == path
    return format_html('href="{}"{}', path, mark_safe(' aria-current="page"') if is_here else "")


@register.simple_tag(takes_context=True)
def theme(context: Context) -> str:
    """Return the visitor's theme: "light", "dark", or "" for the system's theme."""
    request: HttpRequest | None = context.get("request")
    return get_theme(request) if request else ""


@register.simple_tag(takes_context=True)
def visitor(context: Context) -> AbstractBaseUser | None:
    """Return the logged-in user, or None. Without a session cookie the session is never opened."""
    request: HttpRequest | None = context.get("request")
    return get_visitor(request) if request else None


@register.simple_tag(takes_context=True)
def way_back(context: Context) -> str:
    """Return the query string of the page to show after the log-in, or "" for the front page.

    On the pages of accounts, this is the page that ``next`` names; elsewhere it is the current page.
    """
    request: HttpRequest = context["request"]
    here = request.get_full_path()
    home = make_path("home")
    if request.path.startswith(make_path("accounts:account")):
        here = request.POST.get("next") or request.GET.get("next") or home
    return "" if here == home else f"?{urlencode({'next': here})}"


@register.simple_tag
def source_url() -> str:
    """Return the address of the source code, or ""."""
    return str(settings.SOURCE_URL)


@register.simple_tag
def icon(name: str) -> SafeString:
    """Return an icon of the sprite. Screen readers skip it, because the text beside it has the same meaning."""
    return format_html(
        '<svg class="icon" aria-hidden="true" focusable="false"><use href="{}#{}"/></svg>', _get_sprite_url(), name
    )


def _get_sprite_url() -> str:
    return static("icons.svg") if settings.DEBUG else _get_production_sprite_url()


@cache
def _get_production_sprite_url() -> str:
    return static("icons.svg")


@register.simple_tag
def own_name(code: str) -> str:
    """Return the name of a language in that language: "zh-hans" -> "简体中文"."""
    return str(get_language_info(code)["name_local"])


@register.simple_tag
def labelled(field: BoundField) -> SafeString:
    """Render the field of a form with references to its help and its errors, which ``partials/field.html`` shows."""
    described = [f"{field.id_for_label}-errors"] if field.errors else []
    if field.help_text:
        described.append(f"{field.id_for_label}-help")
    attributes: dict[str, str | bool] = {"aria-describedby": " ".join(described)} if described else {}
    if field.errors:
        attributes["aria-invalid"] = "true"
    return field.as_widget(attrs=attributes)
