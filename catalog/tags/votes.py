"""Readers' votes for tags. A tag that only readers gave stays on a book while it has a vote.

A lock on the book's row serializes votes about one book. Without it, one reader could add a vote while another takes
back the last one, which would leave a vote without its tag on the book. The imported count is a column of the link, and
votes are rows that are counted when the book's record is computed: raw SQL would make a column that they increase
wrong.
"""

from collections.abc import Collection

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _

from accounts.words import check_line
from catalog import keys, query
from catalog.mirrors import TagVoteMirror
from catalog.models import Book, Tag, Tagging, TagVote
from catalog.names import normalise
from catalog.tags.aliases import resolve_aliases
from catalog.tags.bulk import get_or_create_ids
from common.database import SLICE_SIZE, repeat_after_conflict

MAX_OWN_TAGS = 1000  # far above TAGS_OF_READER, because the site may have lowered that limit
MAX_ATTEMPTS = 3  # attempts, when concurrent transactions create or merge the tag


@repeat_after_conflict
def give_tag(user_id: int, book_id: int, text: str) -> tuple[str, bool]:
    """Give a book a tag in a reader's name. Return the tag's name, and whether the vote is new.

    Raises ValidationError for an invalid tag and above the reader's limit, and Book.DoesNotExist.
    """
    name = clean_tag_name(text)
    for left in reversed(range(MAX_ATTEMPTS)):
        try:
            with transaction.atomic():
                return _add_vote(user_id, book_id, name)
        except IntegrityError:
            if not left:
                raise
    raise AssertionError("unreachable")


def _add_vote(user_id: int, book_id: int, name: str) -> tuple[str, bool]:
    # First of all, so that votes about one book are counted and added one after the other.
    if not _lock_books([book_id]):
        raise Book.DoesNotExist
    meant = resolve_aliases([name])[0][name]
    own = TagVote.objects.filter(user_id=user_id, book_id=book_id)
    if own.filter(tag__name=meant).exists():
        return meant, False
    if own.count() >= settings.TAGS_OF_READER:
        raise ValidationError(_("You can add %(n)d tags to a book. Remove one first.") % {"n": settings.TAGS_OF_READER})
    tag = get_or_create_ids(Tag, [meant])[0][meant]
    Tagging.objects.bulk_create([Tagging(book_id=book_id, tag_id=tag, imported_count=0)], ignore_conflicts=True)
    TagVote.objects.create(user_id=user_id, book_id=book_id, tag_id=tag)
    return meant, True


@repeat_after_conflict
def take_tag(user_id: int, book_id: int, text: str) -> tuple[str, bool]:
    """Take back a reader's vote for a tag. Return the tag's name, and whether the vote existed."""
    name = normalise(text)[:200]
    meant = resolve_aliases([name])[0][name]
    with transaction.atomic():
        _lock_books([book_id])
        votes = TagVote.objects.filter(user_id=user_id, book_id=book_id, tag__name=meant)
        tags = list(votes.values_list("tag_id", flat=True))
        votes.delete()
        _remove_unsupported_tags([book_id], tags)
    return meant, bool(tags)


@repeat_after_conflict
def erase_votes(user_id: int) -> bool:
    """Delete one slice of a reader's votes, and the tags that only they kept on books. Return whether more remain."""
    with transaction.atomic():
        votes = TagVote.objects.filter(user_id=user_id).order_by("book_id", "pk")[:SLICE_SIZE]
        found = list(votes.values_list("pk", "book_id", "tag_id"))
        books, tags = {book for _, book, _ in found}, {tag for _, _, tag in found}
        _lock_books(books)
        # Votes before links: a link is removed only if no vote is left for it.
        TagVote.objects.filter(pk__in=[pk for pk, _, _ in found]).delete()
        _remove_unsupported_tags(books, tags)
    return len(found) == SLICE_SIZE


def find_own_tags(user_id: int, book_id: int) -> list[str]:
    """Return the tags that a reader gave a book, sorted by code point.

    From a warm mirror: 1 round trip and no SQL.
    """
    own = TagVoteMirror.names(keys.tags_of_reader(user_id, book_id), MAX_OWN_TAGS)
    return [tag.text for tag in own]


def clean_tag_name(text: str) -> str:
    """Return the normalised name of a tag that a reader wrote. Raises ValidationError for an invalid tag."""
    check_line(text)
    name = normalise(text)
    if not name:
        raise ValidationError(_("Enter a tag."))
    if len(name) > settings.TAG_MAX_LENGTH:
        raise ValidationError(_("A tag has at most %(n)d characters.") % {"n": settings.TAG_MAX_LENGTH})
    tag = query.Tag(name)
    try:
        # The name goes through the query language, in which a tag links to its books.
        is_findable = query.parse(query.format_query(tag)) == tag
    except query.QueryError:
        is_findable = False
    if not is_findable:
        raise ValidationError(_("Remove quotation marks and other special characters."))
    return name


def _lock_books(books: Collection[int]) -> list[int]:
    """Lock the existing books among ``books`` in the order of their ids, and return these ids."""
    rows = Book.objects.select_for_update(no_key=True).filter(pk__in=books).order_by("pk")
    return list(rows.values_list("pk", flat=True))


def _remove_unsupported_tags(books: Collection[int], tags: Collection[int]) -> None:
    """Remove tags from books where neither an import nor a vote keeps them."""
    votes = TagVote.objects.filter(book=OuterRef("book"), tag=OuterRef("tag"))
    links = Tagging.objects.filter(book_id__in=books, tag_id__in=tags, imported_count=0)
    links.exclude(Exists(votes)).delete()
