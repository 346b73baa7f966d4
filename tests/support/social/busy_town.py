"""A town with many posts, for tests of pages."""

from catalog.models import Book
from social.models import Hashtag, Mention, Post
from social.timelines.pages import PAGE_SIZE
from tests.support.catalog.make import make_book
from tests.support.social.timelines import make_users, warm_up

COUNT = PAGE_SIZE + 5


class Town:
    """alice has written more than one page of posts that are about a book, have a hashtag and mention bob."""

    def __init__(self) -> None:
        self.alice, self.bob = make_users("alice", "bob")
        self.book: Book = make_book("Emma & <I>")
        said = [
            Post(user=self.alice, book=self.book, text=f"Line {n:02} for @bob #emma https://a.example/?a=1&b=2")
            for n in range(COUNT)
        ]
        self.posts = Post.objects.bulk_create(said)
        Hashtag.objects.bulk_create(Hashtag(post=each, name="emma") for each in self.posts)
        Mention.objects.bulk_create(Mention(post=each, user=self.bob, name="bob") for each in self.posts)
        warm_up(self.alice, self.bob)

    @property
    def one(self) -> str:
        """The path of the newest post's page."""
        return f"/posts/{self.posts[-1].pk}/"

    @property
    def lists(self) -> list[str]:
        """The paths of pages with several posts."""
        return ["/tags/emma/", f"/books/{self.book.pk}/posts/", "/mentions/"]
