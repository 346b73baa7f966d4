"""Functions and filters of the templates of all pages.

Each application has a module ``template_functions`` with its own; ``config.defaults.jinja`` adds them to the
environment. Those of the frame around every page need no SQL for visitors without a session cookie.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache, lru_cache
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.messages import get_messages
from django.forms import BoundField
from django.forms.utils import flatatt
from django.http import HttpRequest
from django.template import defaultfilters
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.timezone import (  # type: ignore[attr-defined]
    get_current_timezone_name,
    get_default_timezone_name,
    template_localtime,
)
from django.utils.translation import get_language, get_language_info, pgettext
from jinja2 import pass_context
from jinja2.runtime import Context

from common import bundles, frame
from common.paths import make_absolute, make_path
from common.spacing import close_gaps, colon, comma, gap
from common.text import shorten_text
from common.web.appearance import get_theme
from common.web.visitors import get_visitor

MAX_CACHED_NUMBERS: Final = 4096  # texts; most are counts, which are small numbers


def render_part(context: Context, template: str, values: Mapping[str, Any]) -> SafeString:
    """Return a template rendered for the same request, without the variables of the surrounding template."""
    return render_to_string(template, dict(values), context.get("request"))


@pass_context
def link_to(context: Context, view: str) -> SafeString:
    """Return the attribute ``href`` with the path of a view, and ``aria-current`` if this is the current page.

    Parts without a request have the path of the current page in the variable ``here``.
    """
    path = make_path(view)
    request: HttpRequest | None = context.get("request")
    here = request.path if request else context.get("here")
    return format_html('href="{}"{}', path, mark_safe(' aria-current="page"') if here == path else "")


@pass_context
def theme(context: Context) -> str:
    """Return the visitor's theme: "light", "dark", or "" for the system's theme."""
    request: HttpRequest | None = context.get("request")
    return get_theme(request) if request else ""


@pass_context
def visitor(context: Context) -> AbstractBaseUser | None:
    """Return the logged-in user, or None. Without a session cookie the session is never opened."""
    request: HttpRequest | None = context.get("request")
    return get_visitor(request) if request else None


@pass_context
def way_back(context: Context) -> str:
    """Return the query string of the page to show after the log-in, or "" for the front page."""
    return frame.find_way_back(context["request"])


def source_url() -> str:
    """Return the address of the source code, or ""."""
    return str(settings.SOURCE_URL)


def icon(name: str, sprite: str = "icons.svg") -> SafeString:
    """Return an icon of a sprite. Screen readers skip it, because the text beside it has the same meaning."""
    return _draw_icon(get_static_url(sprite), name)


@cache
def _draw_icon(sprite: str, name: str) -> SafeString:
    drawn = '<svg class="icon" aria-hidden="true"><use href="{}#{}"/></svg>'
    return format_html(drawn, sprite, name)


def get_url(view: str, *arguments: int | str) -> str:
    """Return the path of a view whose pattern accepts only certain texts. For others, ``path`` is faster."""
    return reverse(view, args=arguments)


def get_static_url(name: str) -> str:
    """Return the address of a static file. In production it never changes while the process runs."""
    return static(name) if settings.DEBUG else _get_production_url(name)


@cache
def _get_production_url(name: str) -> str:
    return static(name)


def own_name(code: str) -> str:
    """Return the name of a language in that language: "zh-hans" -> "简体中文"."""
    return str(get_language_info(code)["name_local"])


def labelled(field: BoundField) -> SafeString:
    """Render the field of a form with references to its help and its errors, which ``partials/field.html`` shows."""
    described = [f"{field.id_for_label}-errors"] if field.errors else []
    if field.help_text:
        described.append(f"{field.id_for_label}-help")
    attributes: dict[str, str | bool] = {"aria-describedby": " ".join(described)} if described else {}
    if field.errors:
        attributes["aria-invalid"] = "true"
    return field.as_widget(attrs=attributes)


def format_date(value: Any, form: str | None = None) -> str:
    """Return a date or a time in the active zone, in one of Django's formats."""
    return str(defaultfilters.date(template_localtime(value), form))


def format_local_time(moment: datetime, style: str = "full") -> str:
    """Return a time in the zone that the reader chose, else its date: the hour in the zone of the site misleads."""
    if style == "day" or not _has_chosen_zone():
        return format_date(moment, "DATE_FORMAT")
    if style == "soon":
        return format_date(moment, pgettext("format of a time without the year", "j M, H:i"))
    return format_date(moment, "TIME_FORMAT" if style == "clock" else "DATETIME_FORMAT")


def _has_chosen_zone() -> bool:
    return get_current_timezone_name() != get_default_timezone_name()


def show_time(moment: datetime, style: str = "full", words: str = "") -> SafeString:
    """Return a time as an element. Unless the reader chose a zone, a script shows it in that of the device.

    style: "full", "clock" (without the day), "day" (without the time), "soon" (without the year), or "age" (the day; a
    script shows the age during the first week). words: shown instead of the time, which is then the title.
    """
    text = format_local_time(moment, "day" if style == "age" else style)
    attributes: dict[str, str | bool] = {"datetime": moment.isoformat(timespec="seconds")}
    if words or style == "age":
        attributes["title"] = format_local_time(moment)
    if not _has_chosen_zone():
        attributes["data-local"] = style
    if style == "age":
        attributes["data-ago"] = True
    return format_html("<time{}>{}</time>", flatatt(attributes), words or text)


def format_number(value: Any, arg: str | int = -1) -> str:
    """Return a number as Django's filter ``floatformat`` does."""
    return _format_number(value, arg, get_language())


@lru_cache(maxsize=MAX_CACHED_NUMBERS)
def _format_number(value: Any, arg: str | int, language: str | None) -> str:
    """Return a number. ``language`` must be the active language."""
    return defaultfilters.floatformat(value, arg)


FUNCTIONS: Final[Mapping[str, Any]] = {
    "LANGUAGES": settings.LANGUAGES,
    "absolute": make_absolute,
    "colon": colon,
    "comma": comma,
    "frame_footer": frame.render_footer,
    "frame_head": frame.render_head,
    "frame_header": frame.render_header,
    "gap": gap,
    "get_language": get_language,
    "icon": icon,
    "labelled": labelled,
    "link_to": link_to,
    "messages_of": get_messages,
    "own_name": own_name,
    "own_links": frame.render_own_links,
    "path": make_path,
    "scripts": bundles.render_scripts,
    "show_time": show_time,
    "source_url": source_url,
    "static": get_static_url,
    "stylesheets": bundles.render_styles,
    "theme": theme,
    "url": get_url,
    "visitor": visitor,
    "way_back": way_back,
}
FILTERS: Final[Mapping[str, Callable[..., Any]]] = {
    "capfirst": defaultfilters.capfirst,
    "close_gaps": close_gaps,
    "date": format_date,
    "default_if_none": defaultfilters.default_if_none,
    "filesizeformat": defaultfilters.filesizeformat,
    "floatformat": format_number,
    "linebreaksbr": defaultfilters.linebreaksbr,
    "local_time": format_local_time,
    "shorten_text": shorten_text,
    "urlencode": defaultfilters.urlencode,
}
