"""Concurrent buyers over HTTP, each with a session, a cart (created in bulk) and connections of their own."""

import http.client
import re
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlencode

from django.contrib import auth
from django.utils import timezone

from accounts.models import Session, User
from accounts.sessions.engine import RIGHTS_KEY, SessionStore
from accounts.sessions.rows import NO_RIGHTS, hash_token
from shop.models import Cart, Product
from shop.payments import fake
from shop.services import carts
from tests.support.servers import PATIENCE_SECONDS
from tests.support.shop.checkouts import CARD_FIELDS, HOME_FIELDS
from tests.support.warm_mirrors import rebuild

BACKEND = "django.contrib.auth.backends.ModelBackend"
CSRF = "c" * 32


@dataclass
class Page:
    """A response to a buyer."""

    code: int
    location: str
    text: str

    @property
    def words(self) -> str:
        """The text without the markup."""
        return " ".join(re.sub(r"<[^>]+>", " ", self.text).split())


class Buyer:
    """A logged-in buyer. token: of the session. cart: the hidden fields of the checkout page."""

    def __init__(self, port: int, token: str, cart: dict[str, str] | None = None, card: str = fake.GOOD_CARD) -> None:
        self.port, self.token, self.card = port, token, card
        self.cart = cart or {}

    def ask(self, method: str, path: str, form: dict[str, str] | None = None) -> Page:
        """Send one request. Raise OSError without a response."""
        headers = {"Cookie": f"sessionid={self.token}; csrftoken={CSRF}"}
        body = None
        if form is not None:
            body = urlencode({**form, "csrfmiddlewaretoken": CSRF})
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return Page(response.status, response.headers.get("Location", ""), response.read().decode())
        except http.client.HTTPException as error:
            raise OSError(str(error)) from error
        finally:
            connection.close()

    def look(self) -> Page:
        """Open the checkout page."""
        page = self.ask("GET", "/shop/checkout/")
        self.cart = dict(re.findall(r'type="hidden" name="(version|total)" value="(\d+)"', page.text))
        return page

    def buy(self) -> Page:
        """Submit the checkout form."""
        form = {"name": "A Buyer", "email": "buyer@example.org", **CARD_FIELDS, "card": self.card, **HOME_FIELDS}
        return self.ask("POST", "/shop/checkout/", form | self.cart)


def make_people(count: int, product: Product) -> dict[str, dict[str, str]]:
    """Create so many logged-in users, each with one copy of the product in the cart, in Redis and in SQL.

    Return the hidden fields of each checkout form, by session token.
    """
    people = User.objects.bulk_create(User(username=f"buyer {n}", password="!") for n in range(count))
    users = {f"{n:032}": user for n, user in enumerate(people)}
    end = timezone.now() + timedelta(days=1)
    Session.objects.bulk_create(
        Session(pk=hash_token(token), session_data=_session_of(user), expire_date=end, user=user)
        for token, user in users.items()
    )
    first, *others = users
    version = carts.set_line(hash_token(first), product.pk, 1).version
    lines = Cart.objects.get().lines
    Cart.objects.bulk_create(
        Cart(digest=hash_token(token), user=users[token], lines=lines, version=version) for token in others
    )
    rebuild(["session", "user", "book", "product", "cart"])
    return {token: {"version": str(version), "total": str(product.price)} for token in users}


def _session_of(user: User) -> str:
    said = {
        auth.SESSION_KEY: str(user.pk),
        auth.BACKEND_SESSION_KEY: BACKEND,
        auth.HASH_SESSION_KEY: user.get_session_auth_hash(),
        RIGHTS_KEY: NO_RIGHTS,
    }
    return SessionStore().encode(said)
