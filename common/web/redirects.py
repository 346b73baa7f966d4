"""Redirects. ``django.shortcuts.redirect`` is banned, because it reads a text without slash or dot as a view's name."""

from typing import Final

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django_htmx.http import HttpResponseClientRedirect

MAX_ADDRESS_LENGTH: Final = 2000  # characters of a ``next``; Django refuses redirects of more than 2,048


def redirect_to(address: str, *, status: int = 302) -> HttpResponseRedirect:
    """Redirect to an address without interpreting it."""
    return HttpResponseRedirect(address, status=status)


def redirect_to_view(name: str, *arguments: object) -> HttpResponseRedirect:
    """Redirect to the address of a view. Raises NoReverseMatch for a wrong name or wrong arguments."""
    return HttpResponseRedirect(reverse(name, args=arguments))


def redirect_window(request: HttpRequest, address: str) -> HttpResponse:
    """Redirect the whole window, also for a request of htmx."""
    return HttpResponseClientRedirect(address) if request.htmx else redirect_to(address)  # type: ignore[attr-defined]


def get_next_address(request: HttpRequest, default: str, given: str | None = None) -> str:
    """Return the address in the field ``next`` if it is on this site, else ``default``.

    given: the address, if the caller has read it already. A relative address is refused as well, because its target
    would depend on the view that redirects.
    """
    wanted = request.POST.get("next", "") if given is None else given
    is_complete = wanted.startswith(("/", "http://", "https://")) and len(wanted) <= MAX_ADDRESS_LENGTH
    is_safe = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return wanted if is_complete and is_safe else default
