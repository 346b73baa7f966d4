"""Collect the fields of JSON responses by requesting every page."""

from typing import Any, Final

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client, override_settings
from django.urls import Resolver404

from tests.names.code import address
from tests.names.shapes import Shapes
from tests.support.matrix.addresses import find_addresses
from tests.support.matrix.world import MatrixWorld
from tests.support.world import MANY

JSON: Final = {"Accept": "application/json"}
MAPS: Final = {"mirrors": "<mirror>", "visits": "<kind>"}
VERBS: Final = ("follow", "unfollow", "block", "unblock", "mute", "unmute")


def collect() -> list[str]:
    """Return lines ``METHOD /address/ status field: type``."""
    return _Visit().shapes.lines()


class _Visit:
    """Send requests as staff (alice), as a reader (reader0) and as an anonymous visitor, and record the responses."""

    def __init__(self) -> None:
        self.shapes = Shapes(MAPS)
        self.matrix = MatrixWorld()
        self.world = world = self.matrix.world
        self.alice, self.reader, self.stranger = Client(), Client(), Client()
        self.alice.force_login(world.staff)
        self.reader.force_login(world.readers[0])
        self._post(self.alice, "/shop/cart/", {"product": "1", "quantity": "2"})
        self._post(self.alice, "/books/1/shelf/", {"action": "rate", "stars": "5"})
        for shelf in ("want-to-read", "read"):
            self._post(self.reader, "/books/1/shelf/", {"action": "shelf", "shelf": shelf})
        for page in find_addresses(self.matrix):
            if not page.is_of_admin and self._get(self.alice, page.path):
                self._get(self.stranger, page.path)
        self._get_more()
        self._write()
        self._provoke_errors()

    def _get(self, client: Client, url: str) -> bool:
        return self._record("GET", client.get(url, headers=JSON))

    def _post(self, client: Client, url: str, data: dict[str, Any]) -> bool:
        return self._record("POST", client.post(url, data, headers=JSON))

    def _record(self, method: str, response: Any) -> bool:
        """Record the fields of a response. Return whether it is JSON."""
        label = f"{method} {_pattern(response)}"
        is_json = bool(response.headers.get("Content-Type", "").startswith(JSON["Accept"])) and not response.streaming
        if is_json:
            self.shapes.add(f"{label} {response.status_code}", response.json())
        return is_json

    def _get_more(self) -> None:
        """Request pages in states that the first requests do not show."""
        blocked = self.world.readers[40].username
        self._get(self.alice, "/books/?q=ruby")
        self._get(self.alice, f"/books/{self.world.other_book.pk}/")
        for order in (self.world.order, self.world.paid):
            self._get(self.alice, f"/shop/orders/{order.pk}/")
        self._get(self.alice, "/accounts/leaderboard/?at=me")
        self._get(self.alice, f"/posts/{self.world.review.pk}/")
        self._get(self.alice, "/books/2/reviews/?stars=3.5")
        self._get(self.reader, f"/library/{self.world.load.pk}/")
        self._get(self.alice, f"/home/?after={self.world.post.pk + MANY - 1}")
        for rest in ("", "followers/", "following/"):
            self._get(self.alice, f"/u/{blocked}/{rest}")
            self._get(self.stranger, f"/u/reader5/{rest}")

    def _write(self) -> None:
        """Send forms that succeed."""
        for verb in VERBS:
            self._post(self.alice, f"/u/reader1/{verb}/", {})
            self._post(self.stranger, f"/u/reader1/{verb}/", {})
        self._post(self.alice, "/posts/", {"text": "For @reader0", "book": "1"})
        self._post(self.stranger, "/posts/", {"text": "Hello"})
        for user in (self.alice, self.reader):
            self._post(user, "/books/2/review/", {"text": "Better than before", "stars": "4"})
        self._post(self.alice, "/lists/", {"name": "Spring"})
        self._post(self.alice, "/library/", {"file": SimpleUploadedFile("isbns.txt", b"9780061120084")})
        for verb in ("confirm", "confirm", "undo", "discard"):
            self._post(self.reader, f"/library/{self.world.load.pk}/{verb}/", {})
        self._post(self.reader, f"/lists/{self.world.list.pk}/books/", {"action": "add", "book": "1"})
        self._post(self.reader, f"/lists/{self.world.list.pk}/change/", {"name": "Autumn"})
        self._post(self.stranger, f"/posts/{self.world.post.pk}/delete/", {})
        self._post(self.reader, f"/posts/{self.world.post.pk}/delete/", {})
        self._post(self.alice, f"/shop/orders/{self.world.open.pk}/cancel/", {})
        self._post(self.alice, f"/report/reader/{self.world.readers[1].pk}/", {"reason": "spam"})

    def _provoke_errors(self) -> None:
        """Provoke responses with status 400, 403, 404, 409 and 429."""
        for url in ("/books/?q=((", "/loginlog/?from=x", "/loginlog/report/?from=x"):
            self._get(self.alice, url)
        self._post(self.alice, "/shop/cart/", {"product": "1", "quantity": "x"})
        self._post(self.alice, "/posts/", {"text": ""})
        self._post(self.alice, f"/report/reader/{self.world.readers[1].pk}/", {})
        self._post(self.alice, "/books/1/review/", {"text": ""})
        self._get(self.reader, "/loginlog/report/")
        self._record("POST", Client(enforce_csrf_checks=True).post("/shop/cart/", headers=JSON))
        for url in ("/books/999999/", "/posts/999999/", "/shop/orders/99999/", "/u/nobody/", "/nowhere/"):
            self._get(self.alice, url)
        self._post(self.alice, "/shop/orders/99999/cancel/", {})
        self._post(self.alice, f"/shop/orders/{self.world.paid.pk}/cancel/", {})
        self._post(self.alice, "/u/alice/follow/", {})
        with override_settings(FOLLOW_RATES=((0, 60),), POST_RATES=((0, 60),)):
            self._post(self.reader, "/u/reader1/follow/", {})
            self._post(self.reader, "/posts/", {"text": "Hello"})


def _pattern(response: Any) -> str:
    """Return the address of a response in the notation of ``addresses``."""
    try:
        return address(str(response.resolver_match.route))
    except Resolver404:
        return "(no such address)"
