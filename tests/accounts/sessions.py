"""Browsers in which people are logged in."""

from django.test import Client

from accounts.models import User
from accounts.session_rows import digest_of

FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0"
SAFARI = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15"
    " (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1"
)
PASSWORD = "a quiet bookshop"


def log_in(user: User, user_agent: str = FIREFOX) -> Client:
    """A browser in which ``user`` logs in by the form."""
    if not user.has_usable_password():
        user.set_password(PASSWORD)
        user.save()
    client = Client(headers={"user-agent": user_agent})
    response = client.post("/accounts/login/", {"username": user.username, "password": PASSWORD})
    assert response.status_code == 302
    return client


def token_in(client: Client) -> str:
    """The token that the browser has."""
    return client.cookies["sessionid"].value


def digest_in(client: Client) -> str:
    """What the site knows the browser's session by."""
    return digest_of(token_in(client))
