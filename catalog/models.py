"""Books, authors, tags, and votes for tags."""

from typing import Any, Final

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from catalog.names import is_hidden_name, normalise
from catalog.shelves.models import MAX_PAGES
from catalog.shelves.models import EarlierReading as EarlierReading
from catalog.shelves.models import ReadingGoal as ReadingGoal
from catalog.shelves.models import ReadingProgress as ReadingProgress
from catalog.shelves.models import ShelfEntry as ShelfEntry
from catalog.shelves.models import ShelfSettings as ShelfSettings
from catalog.sort_titles import sort_title
from catalog.values.collation import MAX_KEY_LENGTH
from catalog.values.isbns import IsbnField
from catalog.values.ratings import validate_rating
from catalog.values.years import validate_year

MAX_BIO_LENGTH: Final = 2000
MAX_PICTURE_LENGTH: Final = 40  # characters of the name of a picture


class TagNameField(models.CharField):
    """Text that is normalised on every way into SQL: ``save``, ``bulk_create``, ``update`` and lookups."""

    def get_prep_value(self, value: Any) -> Any:
        value = super().get_prep_value(value)
        return normalise(value) if isinstance(value, str) else value

    def to_python(self, value: Any) -> Any:
        value = super().to_python(value)
        return normalise(value) if isinstance(value, str) else value


class NamedManager(models.Manager[Any]):
    """A manager for models with unique names, which lets fixtures omit primary keys."""

    def get_by_natural_key(self, name: str) -> Any:
        """Return the row called ``name``. Raises DoesNotExist."""
        return self.get(name=name)


class Author(models.Model):
    """An author of books."""

    name = models.CharField(_("name"), max_length=300, unique=True)
    bio = models.TextField(_("about the author"), max_length=MAX_BIO_LENGTH, blank=True, db_default="")
    # The name of the picture's files ("" without one).
    photo = models.CharField(_("photo"), max_length=MAX_PICTURE_LENGTH, blank=True, db_default="", editable=False)

    objects = NamedManager()

    class Meta:
        verbose_name = _("author")
        verbose_name_plural = _("authors")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def named(cls, name: str) -> "Author":
        """Return a new author. It is not saved."""
        return cls(name=name)

    def natural_key(self) -> tuple[str]:
        """Return the key that fixtures use."""
        return (self.name,)


class AuthorAlias(models.Model):
    """The name and the id of an author who was merged into another one: imports find it, and its page redirects."""

    name = models.CharField(_("name"), max_length=300, unique=True)
    author = models.ForeignKey(Author, models.CASCADE, verbose_name=_("author"), related_name="aliases")
    former_id = models.BigIntegerField(_("former number"), unique=True)

    class Meta:
        verbose_name = _("alias of an author")
        verbose_name_plural = _("aliases of authors")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Tag(models.Model):
    """A word that readers give to books. Its name is normalised: "Sci-Fi" and "sci-fi" are one tag."""

    name = TagNameField(_("name"), max_length=200, unique=True)
    # Set by a pattern when the tag is created, and then by staff: a pattern at each page could not be overruled.
    hidden = models.BooleanField(
        _("hidden"),
        default=False,
        db_default=False,
        help_text=_("Found by queries, but not shown on pages and in lists of tags."),
    )

    objects = NamedManager()

    class Meta:
        verbose_name = _("tag")
        verbose_name_plural = _("tags")
        ordering = ["name"]
        # Few are hidden. The home page of the admin counts them.
        indexes = [models.Index(fields=["id"], condition=models.Q(hidden=True), name="catalog_tag_hidden")]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def named(cls, name: str) -> "Tag":
        """Return a new tag, hidden if its name says nothing about a book. It is not saved."""
        return cls(name=name, hidden=is_hidden_name(name))

    def natural_key(self) -> tuple[str]:
        """Return the key that fixtures use."""
        return (self.name,)


class Book(models.Model):
    """A book of the catalogue."""

    title = models.CharField(_("title"), max_length=500)
    # The database generates the column, so that no write can leave it stale.
    sort_title = models.GeneratedField(
        expression=sort_title(), output_field=models.CharField(max_length=500), db_persist=True
    )
    original_title = models.CharField(
        _("original title"),
        max_length=500,
        blank=True,
        db_default="",
        help_text=_("In the language in which it was first published, if that title is another one."),
    )
    # The order of titles by Unicode's collation, which ``TitleKeyMirror`` computes after every write of a title.
    title_key = models.CharField(max_length=MAX_KEY_LENGTH, blank=True, db_default="", editable=False)
    authors = models.ManyToManyField(Author, verbose_name=_("authors"), related_name="books", blank=True)
    tags = models.ManyToManyField(Tag, verbose_name=_("tags"), related_name="books", blank=True, through="Tagging")
    year = models.SmallIntegerField(
        _("year"),
        null=True,
        blank=True,
        validators=[validate_year],
        help_text=_("Year of first publication; negative for BC."),
    )
    language = models.CharField(_("language"), max_length=10, blank=True, db_default="")
    isbn = IsbnField(_("ISBN"), max_length=13, blank=True, db_default="")
    pages = models.PositiveIntegerField(
        _("pages"), null=True, blank=True, validators=[MinValueValidator(1), MaxValueValidator(MAX_PAGES)]
    )
    # The name of the cover's files. Without one, pages draw a cover.
    cover = models.CharField(_("cover"), max_length=MAX_PICTURE_LENGTH, blank=True, db_default="", editable=False)
    # Of the drawn cover, which ``DesignMirror`` derives from the tags.
    design = models.CharField(max_length=20, blank=True, db_default="", editable=False)
    popularity = models.PositiveBigIntegerField(
        _("popularity"), default=0, db_default=0, help_text=_("Number of readers who rated it.")
    )
    rating = models.DecimalField(
        _("rating"),
        max_digits=3,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[validate_rating],
        help_text=_("Mean, 0 to 5."),
    )
    # Set by the database, so that other programs that add books tell the followers of their authors, too.
    added_at = models.DateTimeField(_("added"), db_default=Now(), editable=False)
    # The book's number in the goodbooks files; empty for other books.
    goodreads_id = models.BigIntegerField(_("Goodreads number"), null=True, blank=True, unique=True)

    class Meta:
        verbose_name = _("book")
        verbose_name_plural = _("books")
        ordering = ["-popularity", "id"]
        indexes = [
            models.Index(fields=["-popularity", "id"], name="catalog_book_popular"),
            models.Index(fields=["-year", "id"], name="catalog_book_newest"),
            models.Index(fields=["-rating", "id"], name="catalog_book_rated"),
            models.Index(fields=["title_key", "id"], name="catalog_book_title_key"),
        ]
        constraints = [
            models.CheckConstraint(condition=~models.Q(title=""), name="catalog_book_has_title"),
        ]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        """Return the address of the book's page."""
        return reverse("catalog:book", args=[self.pk])


class Tagging(models.Model):
    """A tag on a book, given by ``imported_count`` readers elsewhere and by each reader with a ``TagVote`` for it."""

    book = models.ForeignKey(Book, models.CASCADE)
    tag = models.ForeignKey(Tag, models.CASCADE)
    # 1 for tags that staff added, 0 for tags that only votes keep on the book.
    imported_count = models.PositiveIntegerField(
        _("readers on other sites"), default=1, db_default=1, help_text=_("Votes of readers of this shop are added.")
    )

    class Meta:
        db_table = "catalog_book_tags"
        verbose_name = _("tag of a book")
        verbose_name_plural = _("tags of a book")
        unique_together = [("book", "tag")]

    def __str__(self) -> str:
        return f"{self.book_id}: {self.tag_id}"


class TagAlias(models.Model):
    """An alias of a tag: imports and readers may write it instead of the tag's name."""

    name = TagNameField(_("name"), max_length=200, unique=True)
    tag = models.ForeignKey(Tag, models.CASCADE, verbose_name=_("tag"), related_name="aliases")

    class Meta:
        verbose_name = _("tag alias")
        verbose_name_plural = _("tag aliases")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class TagVote(models.Model):
    """The vote of a reader of this shop for a tag of a book."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    book = models.ForeignKey(Book, models.CASCADE, related_name="+")
    tag = models.ForeignKey(Tag, models.CASCADE, related_name="+")
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("vote for a tag")
        verbose_name_plural = _("votes for tags")
        constraints = [models.UniqueConstraint(fields=["user", "book", "tag"], name="catalog_tagvote_once")]
        indexes = [models.Index(fields=["book", "tag"], name="catalog_tagvote_counted")]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.book_id}, {self.tag_id}"
