"""Services that create, edit, hide and delete posts."""

import re
from datetime import datetime
from typing import Final, NamedTuple

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from catalog.models import Book
from common.database import repeat_after_conflict
from common.text import remove_invisible
from mirror.relay import hint
from social.content.cleaning import MAX_INPUT_CODE_POINTS, clean, too_long_error
from social.content.mentions import find_mentions
from social.content.tokens import find_hashtags
from social.models import Hashtag, Mention, Post, PostVersion, new_key
from social.services.visibility import find_shown_post
from social.timelines.pulling import is_pulled_now

MAX_HASHTAGS: Final = 20  # per post
MAX_NOTE_LENGTH: Final = 100  # characters
MAX_ANCESTORS: Final = 20  # posts above a reply that its page shows
_key_pattern = re.compile(r"[\w.:-]{1,64}", re.ASCII)


class FormerText(NamedTuple):
    """The text of a post before an edit, and its content note at that time."""

    text: str
    note: str


@repeat_after_conflict
def create_post(
    user_id: int,
    text: str,
    *,
    note: str = "",
    book_id: int | None = None,
    parent_id: int | None = None,
    key: str | None = None,
    created_at: datetime | None = None,
) -> Post:
    """Create a post, about a book or as a reply. Return the existing post if the user already has one with this key.

    note: the subject of the text, for readers that may not want to see it. Raises ValidationError by field (text, note,
    book, parent, key).
    """
    note = clean_note(note)
    text, key = clean_text(text), check_key(key) if key else new_key()
    made = Post(
        user_id=user_id, text=text, note=note, book_id=book_id, key=key, created_at=created_at or timezone.now()
    )
    if parent_id is not None:
        _set_parent(made, parent_id)
    try:
        with transaction.atomic():
            save_post(made)
    # A double click or a retry: the key is unique for each author.
    except IntegrityError:
        found = get_post_by_key(user_id, key)
        if found is None and book_id is not None and not Book.objects.filter(pk=book_id).exists():
            raise missing_book_error() from None
        if found is None:
            raise
        return found
    return made


def get_post_by_key(user_id: int, key: str) -> Post | None:
    """Return the user's post with this key, or None."""
    return Post.objects.filter(user_id=user_id, key=key).first()


@repeat_after_conflict
def edit_post(post_id: int, text: str, *, note: str | None = None, by: int) -> bool:
    """Replace the text of an own post and keep the former one. Return False if the post or a change is missing.

    note: the new content note; None keeps the present one. A new note alone makes no version. Mentions and hashtags
    become those of the new text. Raises ValidationError by field (text, note).
    """
    text = clean_text(text)
    note = None if note is None else clean_note(note)
    with transaction.atomic():
        # Locked: of two edits at the same time, the later one keeps the text of the earlier one.
        post = Post.objects.select_for_update().filter(pk=post_id, user_id=by, kind=Post.Kind.POST).first()
        if post is None:
            return False
        former = FormerText(post.text, post.note)
        post.note = former.note if note is None else note
        # The second of two clicks changes nothing.
        if (text, post.note) == former:
            return False
        if text == former.text:
            post.save(update_fields=["note"])
        else:
            replace_text(post, text, former)
    return True


def replace_text(post: Post, text: str, former: FormerText, *, named_in: str = "") -> None:
    """Replace the text of a locked post, and keep the former one as a version, in the present transaction.

    The content note of the post is saved as well. named_in: see ``save_post``.
    """
    written_at = post.edited_at or post.created_at
    PostVersion.objects.create(post=post, text=former.text, note=former.note, written_at=written_at)
    post.text, post.edited_at = text, timezone.now()
    post.save(update_fields=["text", "note", "edited_at"])
    # Bulk deletions send no signals either.
    hint("hashtag", "", list(post.hashtags.values_list("name", flat=True)))
    hint("mentions", "", [str(pk) for pk in post.mentions.values_list("user_id", flat=True)])
    post.hashtags.all().delete()
    post.mentions.all().delete()
    _save_names(post, named_in or text)


def save_post(made: Post, *, named_in: str = "") -> None:
    """Save a new post with its mentions and hashtags, in the present transaction.

    named_in: the text that has them, of a post whose own text is only the beginning of it.
    """
    # Decided once, for this post: a later switch of the author moves no older posts.
    made.is_pulled = is_pulled_now(made.user_id)
    made.save(force_insert=True)
    _save_names(made, named_in or made.text)


@repeat_after_conflict
def delete_post(post_id: int, *, by: int) -> bool:
    """Delete an own post. Return False if it does not exist or belongs to another reader."""
    return bool(Post.objects.filter(pk=post_id, user_id=by).delete()[0])


@repeat_after_conflict
def remove_post(post_id: int) -> bool:
    """Delete any reader's post, as staff decided. Return False if it does not exist."""
    return bool(Post.objects.filter(pk=post_id).delete()[0])


def hide_post(post_id: int) -> bool:
    """Hide a post. Return False if it does not exist or is already hidden."""
    return _set_hidden(post_id, hidden=True)


def unhide_post(post_id: int) -> bool:
    """Show a hidden post again. Return False if it does not exist or is not hidden."""
    return _set_hidden(post_id, hidden=False)


def clean_text(text: str) -> str:
    """Return a post's text, cleaned for storage. Raises ValidationError for the field ``text``."""
    try:
        return clean(text)
    except ValidationError as error:
        raise ValidationError({"text": error}) from None


def clean_note(note: str) -> str:
    """Return a content note as one line, cleaned for storage. Raises ValidationError for the field ``note``."""
    note = " ".join(remove_invisible(note).split())
    if len(note) > MAX_NOTE_LENGTH:
        message = _("The content note has %(count)d characters. The maximum is %(most)d.")
        raise ValidationError({"note": message % {"count": len(note), "most": MAX_NOTE_LENGTH}})
    return note


def check_input_length(text: str) -> None:
    """Raise ValidationError for a text above the length that ``clean`` accepts as input."""
    if len(text) > MAX_INPUT_CODE_POINTS:
        raise ValidationError({"text": too_long_error(len(text))})


def check_key(key: str) -> str:
    """Return a form's key unchanged. Raises ValidationError if it is malformed."""
    if not _key_pattern.fullmatch(key):
        raise ValidationError({"key": _("A key has up to 64 letters, digits and . : _ -")})
    return key


def missing_book_error() -> ValidationError:
    """Return the error for a post about a missing book."""
    return ValidationError({"book": _("Book not found.")})


def missing_parent_error() -> ValidationError:
    """Return the error for a reply to a post that its author does not see."""
    return ValidationError({"parent": _("Post not found.")})


def _set_parent(made: Post, parent_id: int) -> None:
    """Make a post a reply. Raises ValidationError if its author does not see the parent."""
    parent = find_shown_post(made.user_id, parent_id)
    if parent is None:
        raise missing_parent_error()
    above = [*parent.ancestors.split(), str(parent_id)][-MAX_ANCESTORS:]
    made.parent_id, made.parent_author_id, made.ancestors = parent_id, parent.user_id, " ".join(above)


def _save_names(made: Post, text: str) -> None:
    """Save the hashtags and the mentions in a text, for a post that has none."""
    names = find_hashtags(text)[:MAX_HASHTAGS]
    Hashtag.objects.bulk_create(Hashtag(post=made, name=name) for name in names)
    # Bulk inserts send no signals, so the windows are named here.
    hint("hashtag", "", names)
    found = find_mentions(text, made.user_id)
    Mention.objects.bulk_create(Mention(post=made, user_id=pk, name=name) for pk, name in found)
    hint("mentions", "", [str(pk) for pk, _ in found])


@repeat_after_conflict
def _set_hidden(post_id: int, *, hidden: bool) -> bool:
    """Set the flag. Return whether it changed.

    The row is saved, not updated by a query: only signals of saved rows send a hint, and a hidden post must disappear
    at once.
    """
    with transaction.atomic():
        found = Post.objects.select_for_update().filter(pk=post_id, is_hidden=not hidden).first()
        if found is not None:
            found.is_hidden = hidden
            found.save(update_fields=["is_hidden"])
    return found is not None
