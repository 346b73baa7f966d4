"""The fields of JSON answers: every page is requested, and whatever answers in JSON is recorded."""

import re
from datetime import timedelta
from typing import Any, Final

from django.core.management import call_command
from django.test import Client, override_settings
from django.urls import Resolver404, get_resolver
from django.utils import timezone

from accounts.models import LoginStats, User
from catalog.models import Book
from loginlog.services import mark
from shop.models import Order, Payment, PaymentState, Product, Recommendation, Sale, SaleItem, State
from social.models import Block, Follow, Mute, Post
from tests.support.names.addresses import address, walk
from tests.support.names.shapes import Shapes
from tests.support.shop.make import make_order

JSON: Final = {"Accept": "application/json"}
MAPS: Final = {"mirrors": "<mirror>", "backups": "<backup>"}
MANY: Final = 60  # more than a page of anything
VERBS: Final = ("follow", "unfollow", "block", "unblock", "mute", "unmute")


def collect() -> list[str]:
    """``METHOD /address/ status field: type``."""
    return _Visit().shapes.lines()


class _Visit:
    """Requests of a member of staff (alice), of a reader (reader0) and of a stranger."""

    def __init__(self) -> None:
        self.shapes = Shapes(MAPS)
        self._make_people()
        self._make_shop()
        self._make_posts()
        self.samples = {
            "uidb64": "x",
            "token": "x",
            "name": "reader0",
            "hashtag": "ruby",
            "pk": "1",
            "shop pk": str(self.order.pk),
            "social pk": str(self.post.pk),
            "social:book_posts pk": "1",
        }
        self.alice, self.reader, self.stranger = Client(), Client(), Client()
        self.alice.force_login(self.staff)
        self.reader.force_login(self.readers[0])
        self._post(self.alice, "/shop/cart/", {"product": "1", "quantity": "2"})
        for route, name in walk(get_resolver()):
            url = self._filled(route, name)
            if self._get(self.alice, url):
                self._get(self.stranger, url)
        self._get_more()
        self._write()
        self._provoke_errors()

    def _make_people(self) -> None:
        call_command("loaddata", "seed_examples", verbosity=0)
        self.staff = User.objects.create_superuser("alice")
        self.readers = User.objects.bulk_create(
            User(username=f"reader{n}", name_key=f"reader{n}", email=f"{n}@example.org") for n in range(MANY)
        )
        now = timezone.now()
        people = [self.staff, *self.readers]
        LoginStats.objects.bulk_create(LoginStats(user=user, login_times=3, last_login_time=now) for user in people)
        Follow.objects.bulk_create(Follow(follower=reader, followee=self.readers[0]) for reader in self.readers[1:])
        Follow.objects.bulk_create(Follow(follower=self.readers[0], followee=reader) for reader in self.readers[1:])
        Follow.objects.bulk_create(Follow(follower=self.staff, followee=reader) for reader in self.readers[:20])
        Follow.objects.bulk_create(Follow(follower=reader, followee=self.staff) for reader in self.readers[:20])
        Mute.objects.bulk_create(Mute(user=self.staff, muted=reader) for reader in self.readers[20:35])
        Block.objects.bulk_create(Block(blocker=self.staff, blocked=reader) for reader in self.readers[35:50])
        mark(self.staff)

    def _make_shop(self) -> None:
        books = Book.objects.bulk_create(Book(title=f"Book {n}") for n in range(25))
        self.other_book = books[0]
        Book.objects.filter(pk=1).update(year=2008, rating="4.50")
        products = Product.objects.bulk_create(Product(book_id=pk, price=1250, stock=9) for pk in (1, 2, 3))
        Recommendation.objects.create(product_id=1, bought=[[2, 5.0, 3]], viewbuy=[[3, 5.0, 50, 4]])
        now = timezone.now()
        for product, starts in zip(products, (-1, 1), strict=False):
            start = now + timedelta(hours=starts)
            sale = Sale.objects.create(name="Spring", starts_at=start, ends_at=start + timedelta(hours=2))
            SaleItem.objects.create(sale=sale, product=product, price=900)
        self.orders = [make_order(self.staff, *products, key=f"key {n}") for n in range(25)]
        Product.objects.update(reserved=9, stock=90)
        self.order, self.paid, self.open = self.orders[:3]
        for order in (self.order, self.paid):
            Payment.objects.create(order=order, key=f"{order.pk}", amount=2500, state=PaymentState.FAILED, reason="No.")
        fields = {"paid_at": now, "sent_at": now, "cancelled_at": None}
        Order.objects.filter(pk=self.paid.pk).update(state=State.SENT, **fields)

    def _make_posts(self) -> None:
        client = Client()
        client.force_login(self.readers[0])
        text = "For @alice: #ruby https://a.example/"
        self._post(client, "/posts/", {"text": text, "book": "1"})
        self.post = Post.objects.get()
        Post.objects.bulk_create(Post(user=self.readers[n % 2], text=f"Line {n}") for n in range(MANY))

    def _filled(self, route: str, name: str) -> str:
        """The address of a page, with a sample for each of its parameters. Raises KeyError if there is none."""

        def sample(found: re.Match[str]) -> str:
            keys = [f"{name} {found[1]}", f"{name.partition(':')[0]} {found[1]}", found[1]]
            return next(self.samples[key] for key in keys if key in self.samples or key == found[1])

        return "/" + re.sub(r"<(?:\w+:)?(\w+)>", sample, route)

    def _get(self, client: Client, url: str) -> bool:
        return self._record("GET", client.get(url, headers=JSON))

    def _post(self, client: Client, url: str, data: dict[str, Any]) -> bool:
        return self._record("POST", client.post(url, data, headers=JSON))

    def _record(self, method: str, response: Any) -> bool:
        """Record the fields of an answer. Returns whether it is JSON."""
        is_json = bool(response.headers.get("Content-Type", "").startswith(JSON["Accept"]))
        if is_json:
            self.shapes.add(f"{method} {_pattern(response)} {response.status_code}", response.json())
        return is_json

    def _get_more(self) -> None:
        """What one request to each page does not show."""
        blocked = self.readers[40].username
        self._get(self.alice, "/books/?q=ruby")
        self._get(self.alice, f"/books/{self.other_book.pk}/")
        self._get(self.alice, f"/shop/orders/{self.paid.pk}/")
        self._get(self.alice, "/accounts/leaderboard/?at=me")
        self._get(self.alice, f"/home/?after={self.post.pk + MANY - 1}")
        for rest in ("", "followers/", "following/"):
            self._get(self.alice, f"/u/{blocked}/{rest}")
            self._get(self.stranger, f"/u/reader5/{rest}")

    def _write(self) -> None:
        """What is posted, and done."""
        for verb in VERBS:
            self._post(self.alice, f"/u/reader1/{verb}/", {})
            self._post(self.stranger, f"/u/reader1/{verb}/", {})
        self._post(self.stranger, "/posts/", {"text": "Hello"})
        self._post(self.stranger, f"/posts/{self.post.pk}/delete/", {})
        self._post(self.reader, f"/posts/{self.post.pk}/delete/", {})
        self._post(self.alice, f"/shop/orders/{self.open.pk}/cancel/", {})

    def _provoke_errors(self) -> None:
        """400, 403, 404, 409, 429."""
        for url in ("/books/?q=((", "/loginlog/?from=x", "/loginlog/report/?from=x"):
            self._get(self.alice, url)
        self._post(self.alice, "/shop/cart/", {"product": "1", "quantity": "x"})
        self._post(self.alice, "/posts/", {"text": ""})
        self._get(self.reader, "/loginlog/report/")
        self._record("POST", Client(enforce_csrf_checks=True).post("/shop/cart/", headers=JSON))
        for url in ("/books/99/", "/posts/99999/", "/shop/orders/99999/", "/u/nobody/", "/nowhere/"):
            self._get(self.alice, url)
        self._post(self.alice, "/shop/orders/99999/cancel/", {})
        self._post(self.alice, f"/shop/orders/{self.paid.pk}/cancel/", {})
        self._post(self.alice, "/u/alice/follow/", {})
        with override_settings(FOLLOW_RATES=((0, 60),), POST_RATES=((0, 60),)):
            self._post(self.reader, "/u/reader1/follow/", {})
            self._post(self.reader, "/posts/", {"text": "Hello"})


def _pattern(response: Any) -> str:
    """The address as ``addresses`` writes it."""
    try:
        return address(str(response.resolver_match.route))
    except Resolver404:
        return "(no such address)"
