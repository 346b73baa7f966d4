"""The account page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.users.account import read_addresses, read_logins
from common.web import get_user_id, personal_page


@require_safe
@personal_page
def account(request: HttpRequest) -> HttpResponse:
    """Show the user's name, addresses and logins, with links to the pages that change them."""
    me = get_user_id(request)
    return render(request, "accounts/account.html", {"logins": read_logins(me), "addresses": read_addresses(me)})
