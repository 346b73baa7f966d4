"""What the frame of every page asks for. None of it costs SQL for a visitor without a session cookie."""

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
from django.utils.safestring import SafeString
from django.utils.translation import get_language_info

from config.look import theme_of

register = template.Library()


@register.simple_tag(takes_context=True)
def theme(context: Context) -> str:
    """ "light", "dark", or "" when the visitor leaves it to the system."""
    request: HttpRequest | None = context.get("request")
    return theme_of(request) if request else ""


@register.simple_tag(takes_context=True)
def visitor(context: Context) -> AbstractBaseUser | None:
    """The user who is signed in, or None. Without a session cookie the session is never opened."""
    request: HttpRequest | None = context.get("request")
    if request is None or not _may_be_signed_in(request):
        return None
    return request.user if request.user.is_authenticated else None


@register.simple_tag(takes_context=True)
def way_back(context: Context) -> str:
    """Where to go after logging in, as a query: here, or where the log-in page leads; "" for the front page."""
    request: HttpRequest = context["request"]
    here = request.get_full_path()
    if request.path.startswith("/accounts/"):
        here = request.POST.get("next") or request.GET.get("next") or "/"
    return "" if here == "/" else f"?{urlencode({'next': here})}"


def _may_be_signed_in(request: HttpRequest) -> bool:
    """Whether there is anything to ask: a session cookie, or a user whom this very request signed in."""
    return settings.SESSION_COOKIE_NAME in request.COOKIES or "_cached_user" in request.__dict__


@register.simple_tag
def icon(name: str) -> SafeString:
    """A picture of the sprite, for the eye alone: the text beside it says the same."""
    return format_html(
        '<svg class="icon" aria-hidden="true" focusable="false"><use href="{}#{}"/></svg>', _sprite(), name
    )


def _sprite() -> str:
    return static("icons.svg") if settings.DEBUG else _sprite_in_production()


@cache
def _sprite_in_production() -> str:
    return static("icons.svg")


@register.simple_tag
def own_name(code: str) -> str:
    """What a language calls itself: "zh-hans" -> "简体中文"."""
    return str(get_language_info(code)["name_local"])


@register.simple_tag
def labelled(field: BoundField) -> SafeString:
    """A form's field, told what describes it: its help and its errors (``partials/field.html`` has both)."""
    described = [f"{field.id_for_label}-errors"] if field.errors else []
    if field.help_text:
        described.append(f"{field.id_for_label}-help")
    attributes: dict[str, str | bool] = {"aria-describedby": " ".join(described)} if described else {}
    if field.errors:
        attributes["aria-invalid"] = "true"
    return field.as_widget(attrs=attributes)
