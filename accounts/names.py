"""Names of users: rules for valid names, and the test whether two names are the same.

Two names are the same if they fold to the same text (``common.text.fold``): "Ken Thompson", "KEN THOMPSON" and the same
name in full-width letters belong to one user, and each of them works at login.
"""

import unicodedata
from typing import Any, Final

import regex
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.lookalikes import find_misplaced_joiner, has_misleading_characters, skeleton
from accounts.words import has_link
from common.paths import make_path
from common.text import fold

MAX_NAME_KEY: Final = 200  # characters of a folded name

# After Unicode Standard Annex 31: letters and digits of any script with their marks, joiners (in checked places), and
# the signs inside words of Hebrew, Catalan, Armenian, Tibetan and Japanese. A word begins with a letter or digit.
_WORD: Final = r"[\p{L}\p{N}][\p{L}\p{N}\p{Mn}\p{Mc}\u200C\u200D\u05F3\u05F4]*+"
_BETWEEN: Final = r"[ ._'‘’‐‑\-·\u058A\u0F0B・]"
name_pattern = regex.compile(rf"{_WORD}(?:{_BETWEEN}{_WORD})*+")
# UTS 39: a pile of marks, or the same mark twice, hides the letter below.
_pile_pattern = regex.compile(r"\p{Mn}{5}|(\p{Mn})\1")
_joiners: Final = str.maketrans("", "", "\u200c\u200d")


def valid_name(name: str) -> None:
    """Check the format of a name. Raises ValidationError.

    The message is about the text alone, so it reveals nothing about other users.
    """
    # First the length, because normalising a longer text may take quadratic time.
    has_format = len(name) <= MAX_NAME_KEY and name_pattern.fullmatch(name) and len(fold(name)) <= MAX_NAME_KEY
    if not has_format or _has_pile(name) or find_misplaced_joiner(name) is not None:
        raise ValidationError(
            _("A name consists of letters and digits, with single spaces or . _ - ' between them."), code="invalid"
        )


def _has_pile(name: str) -> bool:
    return _pile_pattern.search(unicodedata.normalize("NFD", name)) is not None


def valid_new_name(name: str) -> None:
    """Check the format and the characters of the name of a new user. Raises ValidationError."""
    valid_name(name)
    if has_misleading_characters(name):
        raise ValidationError(_("Use letters and digits of one script only."), code="mixed")
    if has_link(name):
        raise ValidationError(_("A name cannot be a web or email address."), code="link")


def make_public_path(name: str) -> str:
    """Return the path of the user's public page; "" for a name that cannot be part of a URL (created by a script)."""
    is_usable = "/" not in name and name not in (".", "..") and name.translate(_joiners).isprintable()
    return make_path("social:person", name) if is_usable else ""


def is_misleading(name: str) -> bool:
    """Return whether a name can be confused with another name or a web address. New users cannot have such a name."""
    return has_misleading_characters(name) or has_link(name)


class DerivedField(models.CharField):
    """A column that is computed from another column (``of``) on every save, including ``bulk_create``."""

    def __init__(self, *args: Any, of: str = "", **kwargs: Any) -> None:
        self.of = of
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> Any:
        name, path, args, kwargs = super().deconstruct()
        return name, path, args, {**kwargs, "of": self.of}

    def derive(self, text: str) -> str:
        """Return the value of this column for the text of the other one."""
        raise NotImplementedError

    def pre_save(self, model_instance: models.Model, add: bool) -> str:
        derived = self.derive(getattr(model_instance, self.of))
        setattr(model_instance, self.attname, derived)
        return derived


class FoldedField(DerivedField):
    """The folded form of a name."""

    def derive(self, text: str) -> str:
        return fold(text)


class SkeletonField(DerivedField):
    """The skeleton of a name, which is equal for names that look alike."""

    def derive(self, text: str) -> str:
        return skeleton(text)
