"""Services that write and edit reviews, and the posts that show ratings. A review is deleted with its post."""

from datetime import date
from typing import Final, NamedTuple

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from catalog.models import Book
from catalog.shelves.records import build_entry_key, load_entries
from catalog.shelves.services import BookNotFound, rate_book
from common.database import repeat_after_conflict
from social.content.cleaning import OF_REVIEWS, clean, empty_error, shorten
from social.models import Post, new_key
from social.reviews.markdown import is_too_nested, strip_markdown
from social.reviews.models import Review
from social.services.posts import FormerText, clean_note, replace_text, save_post

LANGUAGES: Final = ("en", "zh-hans")


class Draft(NamedTuple):
    """The content of a review, as its writer typed it. text: Markdown. stars: in halves, or None for no rating."""

    text: str
    stars: int | None
    note: str = ""
    language: str = ""


class CleanDraft(NamedTuple):
    """A draft, cleaned for storage. words: the text without marks. excerpt: the text of its post."""

    text: str
    words: str
    excerpt: str
    note: str
    language: str


@repeat_after_conflict
def write_review(user_id: int, book_id: int, draft: Draft, today: date) -> Review:
    """Write a reader's review of a book, or edit it, and set the rating. A book on no shelf is put on "read".

    Raises ValidationError by field (text, note), and BookNotFound.
    """
    content = clean_draft(draft)
    try:
        with transaction.atomic():
            if not Book.objects.filter(pk=book_id).exists():
                raise BookNotFound
            review = _save_review(user_id, book_id, content)
            # After the review, beside which the rating needs no post of its own.
            rate_book(user_id, book_id, draft.stars, today)
    except IntegrityError:
        # A concurrent request has written it, which is edited now.
        with transaction.atomic():
            if find_review(user_id, book_id) is None:
                raise
            review = _save_review(user_id, book_id, content)
            rate_book(user_id, book_id, draft.stars, today)
    return review


def find_review(user_id: int, book_id: int) -> Review | None:
    """Return a reader's review of a book with its post, from SQL."""
    rows = Review.objects.filter(user_id=user_id, book_id=book_id).exclude(text="")
    return rows.select_related("post").first()


def update_rating_post(user_id: int, book_id: int, stars: int | None) -> None:
    """Make or delete the post that shows a changed rating, in the present transaction.

    A post has no copy of the stars, so a change from one rating to another needs nothing. A review shows the rating,
    too. A rating on a shelf that is not public has no post.
    """
    review = Review.objects.filter(user_id=user_id, book_id=book_id).first()
    if stars is None and review is not None and not review.text:
        Post.objects.filter(pk=review.pk).delete()
    if stars is not None and review is None:
        entry = load_entries([(user_id, book_id)]).get(build_entry_key(user_id, book_id))
        if entry is not None and entry.is_public:
            made = _make_post(user_id, book_id, Post.Kind.RATING)
            save_post(made)
            Review.objects.create(post=made, user_id=user_id, book_id=book_id)


def clean_draft(draft: Draft) -> CleanDraft:
    """Return a draft as it is stored. Raises ValidationError by field (text, note)."""
    language = draft.language if draft.language in LANGUAGES else ""
    try:
        text = clean(draft.text, OF_REVIEWS)
        excerpt = shorten(strip_markdown(text))
        if is_too_nested(text):
            raise ValidationError(_("Quotes and lists are nested too deeply."))
        # Marks alone are no text.
        if not excerpt:
            raise empty_error()
    except ValidationError as error:
        raise ValidationError({"text": error}) from None
    words = strip_markdown(text, with_spoilers=True)
    return CleanDraft(text, words, excerpt, clean_note(draft.note), language)


def _save_review(user_id: int, book_id: int, content: CleanDraft) -> Review:
    """Save the review under its lock. One that is new replaces the post of the rating."""
    review = Review.objects.select_for_update().filter(user_id=user_id, book_id=book_id).first()
    if review is not None and review.text:
        _edit_review(review, content)
        return review
    if review is not None:
        # New, so that it appears at the top of timelines.
        Post.objects.filter(pk=review.pk).delete()
    post = _make_post(user_id, book_id, Post.Kind.REVIEW)
    post.text, post.note = content.excerpt, content.note
    save_post(post, named_in=content.words)
    return Review.objects.create(
        post=post, user_id=user_id, book_id=book_id, text=content.text, language=content.language
    )


def _edit_review(review: Review, content: CleanDraft) -> None:
    post = Post.objects.select_for_update().get(pk=review.pk)
    is_same = (review.text, review.language, post.note) == (content.text, content.language, content.note)
    # The second of two clicks changes nothing.
    if is_same:
        return
    former = FormerText(review.text, post.note)
    review.text, review.language = content.text, content.language
    review.save(update_fields=["text", "language"])
    post.note = content.note
    if former.text != content.text:
        replace_text(post, content.excerpt, former, named_in=content.words)
    else:
        post.save(update_fields=["note"])


def _make_post(user_id: int, book_id: int, kind: Post.Kind) -> Post:
    """Return an unsaved post without a text."""
    return Post(user_id=user_id, book_id=book_id, kind=kind, key=new_key())
