"""Paths of pages at the cost of formatting a string: a page with many links would spend much time in ``reverse``."""

from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote

from django.conf import settings
from django.core.signals import setting_changed
from django.dispatch import receiver
from django.urls import get_script_prefix, reverse

FIRST_SAMPLE: Final = 7_000_000_001  # stands for the first argument; no path contains this number


def make_path(view: str, *arguments: int | str) -> str:
    """Return the path of a view, as ``reverse`` does, seven to ten times as fast: 2 to 3 us; a list has 200 links.

    A text is quoted as one part of the path, and no value is checked against the pattern of the view. Each argument of
    the pattern must accept numbers. Raises NoReverseMatch for a wrong name or a wrong number of arguments.
    """
    form = _make_form(view, len(arguments), get_script_prefix())
    return form % tuple(value if isinstance(value, int) else quote(value, safe="") for value in arguments)


def make_absolute(path: str) -> str:
    """Return the absolute address of a path. It does not depend on the host of the request, which may be an alias."""
    return f"{settings.SITE_URL}{path}"


@lru_cache(maxsize=1024)  # the views of the site; more only with several script prefixes
def _make_form(view: str, count: int, script_prefix: str) -> str:
    """Return the path of a view with a %s for each argument. ``reverse`` reads the script prefix of the thread."""
    samples = [FIRST_SAMPLE + i for i in range(count)]
    form = reverse(view, args=samples).replace("%", "%%")
    for sample in samples:
        form = form.replace(str(sample), "%s")
    return form


@receiver(setting_changed)
def _clear_forms(*, setting: str, **kwargs: Any) -> None:
    if setting == "ROOT_URLCONF":
        _make_form.cache_clear()
