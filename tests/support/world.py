"""Create users, products, orders and posts, from which responses and Redis values are collected."""

from datetime import timedelta
from typing import Final

from django.core.management import call_command
from django.utils import timezone

from accounts.models import LoginStats, User
from catalog.details.models import BookDetails
from catalog.library.formats import SERVICES, Table
from catalog.library.services import start_import
from catalog.lists.models import ListedBook
from catalog.lists.services import ListDraft, create_list
from catalog.models import Author, Book
from catalog.shelves.models import Shelf, ShelfEntry
from loginlog.services import mark_login
from shop.models import Order, OrderState, Payment, PaymentState, Product, Recommendation, Sale, SaleItem, SavedAddress
from social.models import Block, Follow, Mute, Post
from social.reviews.models import Review
from social.reviews.services import Draft, write_review
from social.services.posts import create_post
from tests.support.shop.make import make_order

MANY: Final = 60  # more than one page of any list


class World:
    """The seed data with enough additional rows that lists have next pages and optional values are present."""

    def __init__(self) -> None:
        self._make_people()
        self._make_shop()
        self._make_posts()
        self._make_lists()

    def _make_people(self) -> None:
        call_command("loaddata", "seed_examples", verbosity=0)
        self.staff = User.objects.create_superuser("alice", shows_logins=True)
        self.readers = User.objects.bulk_create(
            User(username=f"reader{n}", name_key=f"reader{n}", email=f"{n}@example.org", shows_logins=True)
            for n in range(MANY)
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
        mark_login(self.staff)

    def _make_shop(self) -> None:
        books = Book.objects.bulk_create(Book(title=f"Book {n}") for n in range(25))
        self.other_book = books[0]
        Book.objects.filter(pk=1).update(year=2008, rating="4.50")
        self._make_details()
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
        self.guest_order = make_order(None, products[0], key="guest")
        self.saved_address = SavedAddress.objects.create(
            user=self.staff, name="Alice", address="1 Long Lane\nLONDON\nSW1A 1AA\nUNITED KINGDOM", country="GB"
        )
        for order in (self.order, self.paid):
            Payment.objects.create(order=order, key=f"{order.pk}", amount=2500, state=PaymentState.FAILED, reason="No.")
        fields = {"paid_at": now, "sent_at": now, "cancelled_at": None}
        Order.objects.filter(pk=self.paid.pk).update(state=OrderState.SENT, **fields)

    def _make_details(self) -> None:
        """Give a book details, and the first author a series."""
        author = Author.objects.order_by("pk")[0]
        details = BookDetails.objects.create(book_id=1, description="All of Ruby.", publisher="Press", format="ebook")
        details.translators.add(author)
        details.illustrators.add(author)
        volume = Book.objects.create(title="Volume (Ruby, #1)")
        volume.authors.add(author)

    def _make_posts(self) -> None:
        author, other = self.readers[:2]
        self._make_reviews(*self.readers[:25])
        self.post = create_post(author.pk, "For @alice: #ruby https://a.example/", book_id=1)
        Post.objects.bulk_create(Post(user=(author, other)[n % 2], text=f"Line {n}") for n in range(MANY))

    def _make_reviews(self, first: User, *others: User) -> None:
        """Let the first reader write a review of the second book. The other readers get the same rows."""
        today = timezone.localdate()
        self.review = write_review(first.pk, 2, Draft("A *fine* book", 7), today)
        posts = Post.objects.bulk_create(
            Post(user=other, book_id=2, kind=Post.Kind.REVIEW, text=self.review.post.text) for other in others
        )
        Review.objects.bulk_create(Review(post=p, user=p.user, book_id=2, text=self.review.text) for p in posts)
        ShelfEntry.objects.bulk_create(
            ShelfEntry(user=other, book_id=2, shelf=Shelf.READ, stars=7, shelved_on=today) for other in others
        )

    def _make_lists(self) -> None:
        self.list = create_list(self.readers[0].pk, ListDraft("Winter"))
        books, today = Book.objects.order_by("pk")[:25], timezone.localdate()
        ListedBook.objects.bulk_create(
            ListedBook(reading_list_id=self.list.pk, book=book, position=n, added_on=today)
            for n, book in enumerate(books, start=1)
        )
        table = Table(SERVICES["isbns"], [{"ISBN": "9780061120084"}])
        self.load = start_import(self.readers[0].pk, "isbns.txt", table)
