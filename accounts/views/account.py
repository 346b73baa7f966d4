"""The account page."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.users.account import read_addresses, read_logins


@require_safe
@never_cache
@login_required
def account(request: HttpRequest) -> HttpResponse:
    """Show the user's name, addresses and logins, with links to the pages that change them."""
    me = request.user.pk or 0
    return render(request, "accounts/account.html", {"logins": read_logins(me), "addresses": read_addresses(me)})
