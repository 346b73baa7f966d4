"""The draft of a post in a request."""

from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext as _

from catalog.listing import BookRecord
from catalog.selectors import get_book
from common.ids import parse_id
from common.text import clean_parameter
from common.web import JSON_TYPE
from social.queries.records import PostRecord
from social.selectors import get_post
from social.services.posts import check_input_length, check_key, missing_book_error, missing_parent_error

TEXT_FIELDS: Final = ("text", "note", "key")


def is_json_body(request: HttpRequest) -> bool:
    """Return whether the request has a JSON body."""
    return request.content_type == JSON_TYPE


@dataclass
class Draft:
    """A draft. ``text`` is the input, ``note`` and ``key`` are None if missing.

    book_search: words to find a book by; None in a form without the picker. shown_search: the words whose books the
    form showed. is_search: whether the author pressed "Find". ``find_parent`` sets ``parent``
    to the record of the post that it replies to, and ``check`` sets ``book`` to the book's record.
    """

    text: str
    note: str | None
    key: str | None
    book_given: Any
    parent_given: Any
    book_search: str | None = None
    shown_search: str = ""
    is_search: bool = False
    errors: list[ValidationError] = field(default_factory=list)
    book: BookRecord | None = None
    parent: PostRecord | None = None

    @property
    def lacks_choice(self) -> bool:
        """Whether the author has searched for a book and not chosen one of those found. "No book" is empty text."""
        return bool(self.book_search) and (self.book_given is None or self.book_search != self.shown_search)

    @property
    def parent_id(self) -> int | None:
        """Return the id of the post that it replies to, or None."""
        return None if self.parent is None else self.parent["id"]

    @property
    def book_id(self) -> int | None:
        """Return the id of the book, or None."""
        return None if self.book is None else self.book["id"]

    @classmethod
    def read(cls, request: HttpRequest) -> "Draft":
        """Read a draft from a form or a JSON object. ``check`` raises the errors for values of a wrong type."""
        if not is_json_body(request):
            form = request.POST
            text, note = form.get("text", ""), form.get("note")
            draft = cls(text, note, form.get("key") or None, form.get("book"), form.get("parent"))
            if "book_search" in form:
                draft.book_search = _join_words(form["book_search"])
                draft.shown_search = _join_words(form.get("shown_search", ""))
                draft.is_search = "find" in form
            return draft
        try:
            body = orjson.loads(request.body)
        except orjson.JSONDecodeError:
            body = None
        if not isinstance(body, dict):
            error = ValidationError({"text": _("The request body must be a JSON object.")})
            return cls("", None, None, None, None, errors=[error])
        given = {
            name: clean_parameter(name, value) if isinstance(value, str) else value for name, value in body.items()
        }
        text, note = given.get("text", ""), given.get("note")
        draft = cls(text, note, given.get("key"), given.get("book"), given.get("parent"))
        for name, value in given.items():
            if name in TEXT_FIELDS and not isinstance(value, str) and (name, value) != ("key", None):
                draft.errors.append(ValidationError({name: _("This must be text.")}))
        return draft

    @property
    def is_reply(self) -> bool:
        """Return whether it replies to a post, which may not exist any more."""
        return self.parent_given not in (None, "")

    def find_parent(self, user_id: int) -> None:
        """Load the post that it replies to, if the author sees it."""
        parent = _parse_id(self.parent_given) if self.is_reply else None
        self.parent = None if parent is None else get_post(parent, user_id)

    def check(self) -> None:
        """Run the cheap checks, and load the book. Raises ValidationError by field."""
        for error in self.errors:
            raise error
        if self.book_given not in (None, ""):
            self.book = _find_book(self.book_given)
            if self.book is None:
                raise missing_book_error()
        check_input_length(self.text)
        if self.key:
            check_key(self.key)

    def check_parent(self) -> None:
        """Raise ValidationError if it replies to a post that the author does not see."""
        if self.is_reply and self.parent is None:
            raise missing_parent_error()


def _join_words(text: str) -> str:
    return " ".join(text.split())


def _find_book(given: Any) -> BookRecord | None:
    """Return the record of the book with that id; None if it does not exist or the id is invalid."""
    pk = _parse_id(given)
    return None if pk is None else get_book(pk)


def _parse_id(given: Any) -> int | None:
    # True is a number for Python, and would be the row 1.
    return None if isinstance(given, bool) else parse_id(str(given))
