"""Names of people: what a name may be, and when two names are the same.

Two names are the same when they are equal after NFKC normalisation and case folding: "Ken Thompson", "KEN THOMPSON"
and the same in full-width letters can belong to one person only, and each logs that person in.
"""

import re
import unicodedata
from typing import Any, Final
from urllib.parse import quote

from django.core.validators import RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.lookalikes import has_odd_characters, skeleton
from accounts.words import has_link

MAX_KEY: Final = 200  # characters of a folded name
MAX_FOLDED: Final = 1000  # code points that are folded; four of them make at least one

# Letters of any script, digits, and single blanks or . _ - ' between them: "ken thompson" is a name.
valid_name = RegexValidator(
    r"^[^\W_]+(?:[ ._'\-][^\W_]+)*\Z",
    _("A name is made of letters and digits; between them single blanks or . _ - ' may stand."),
)


def fold(name: str) -> str:
    """What two spellings of one name have in common.

    The end of a longer text is cut off: normalising may take the square of its length, and no name is as long.
    """
    name = name[:MAX_FOLDED]
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def page_of(name: str) -> str:
    """The address of whoever has this name; "" for a name (a script may have made it) that has no place in one."""
    return "" if "/" in name or name in (".", "..") or not name.isprintable() else f"/u/{quote(name, safe='')}/"


# Names that speak for the site; nobody registers them.
_RESERVED: Final = """
    abuse admin administrator anonymous diptych everybody everyone help hostmaster info me moderator nobody none
    noreply null official postmaster root security staff superuser support sysadmin system undefined webmaster
"""


def _loose_skeleton(name: str) -> str:
    """A skeleton without a difference between i and l: a capital I looks like both."""
    return skeleton(name).replace("i", "l")


# In both cases: some capitals look like other letters than the small ones.
RESERVED: Final = frozenset(
    _loose_skeleton(spell(name)) for name in _RESERVED.split() for spell in (str.lower, str.upper)
)


def is_misleading(name: str) -> bool:
    """Whether a name reads like another one or like an address on the web, so that nobody new may have it."""
    return has_odd_characters(name) or has_link(name)


def is_reserved(name: str) -> bool:
    """Whether a name speaks for the site, however it is spelled: "Ad-min" is "admin", and so is "adm1n"."""
    letters = (re.sub(r"[\W_]", "", spelled) for spelled in (name, fold(name)))
    return any(_loose_skeleton(spelled) in RESERVED for spelled in letters)


class DerivedField(models.CharField):
    """A column worked out from another one, written whenever a row is saved (``bulk_create`` too)."""

    def __init__(self, *args: Any, of: str = "", **kwargs: Any) -> None:
        self.of = of
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> Any:
        name, path, args, kwargs = super().deconstruct()
        return name, path, args, {**kwargs, "of": self.of}

    def derive(self, text: str) -> str:
        """Work it out."""
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
    """What a name has in common with those that look like it."""

    def derive(self, text: str) -> str:
        return skeleton(text)
