"""Names of users: rules for valid names, and the test whether two names are the same.

Two names are the same if they fold to the same text (``common.text.fold``): "Ken Thompson", "KEN THOMPSON" and the same
name in full-width letters belong to one user, and each of them works at login.
"""

import re
from typing import Any, Final

from django.core.validators import RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.lookalikes import has_misleading_characters, skeleton
from accounts.words import has_link
from common.paths import make_path
from common.text import fold

MAX_NAME_KEY: Final = 200  # characters of a folded name

# Letters of any script, digits, and single blanks or . _ - ' between them: "ken thompson" is valid.
valid_name = RegexValidator(
    r"^[^\W_]+(?:[ ._'\-][^\W_]+)*\Z",
    _("A name consists of letters and digits, with single spaces or . _ - ' between them."),
)


def make_public_path(name: str) -> str:
    """Return the path of the user's public page; "" for a name that cannot be part of a URL (created by a script)."""
    return "" if "/" in name or name in (".", "..") or not name.isprintable() else make_path("social:person", name)


# Names that seem to speak for the site. They cannot be registered.
_RESERVED_NAMES: Final = """
    abuse admin administrator anonymous diptych everybody everyone help hostmaster info me moderator nobody none
    noreply null official postmaster root security staff superuser support sysadmin system undefined webmaster
"""


def _make_loose_skeleton(name: str) -> str:
    """Return the skeleton of a name with i and l merged, because a capital I looks like both."""
    return skeleton(name).replace("i", "l")


# In both cases, because a capital may look like another letter than its lower-case form does.
RESERVED_SKELETONS: Final = frozenset(
    _make_loose_skeleton(spell(name)) for name in _RESERVED_NAMES.split() for spell in (str.lower, str.upper)
)


def is_misleading(name: str) -> bool:
    """Return whether a name can be confused with another name or a web address. New users cannot have such a name."""
    return has_misleading_characters(name) or has_link(name)


def is_reserved(name: str) -> bool:
    """Return whether a name is reserved in any spelling: "Ad-min" and "adm1n" count as "admin"."""
    letters = (re.sub(r"[\W_]", "", spelled) for spelled in (name, fold(name)))
    return any(_make_loose_skeleton(spelled) in RESERVED_SKELETONS for spelled in letters)


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
