"""Forms that were submitted without a login. They are kept in the session and submitted again after the login.

A form belongs to the reader whose page sent it. Nobody else sees or submits it.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from django.contrib.auth import SESSION_KEY as LOGIN_KEY
from django.http import HttpRequest
from django.urls import reverse
from django.utils.crypto import get_random_string

from common.web.readers import get_author, make_mark

SESSION_KEY: Final = "_forms_of_readers"  # another than that of forms without a reader, in older sessions
MAX_FORMS: Final = 3  # per session; the oldest is dropped first
# A session's data is read with each of its requests, until the form is sent again. A review's form accepts 100,000.
MAX_CHARACTERS: Final = 110_000  # in the names and values of a form
FORM_TYPES: Final = ("application/x-www-form-urlencoded", "multipart/form-data")
ALL_FIELDS: Final = "__ALL__"  # Django's mark of a request whose fields are all sensitive


class KeptForm(NamedTuple):
    """A submitted form: its address, and the names and values of its fields. is_sure: it may be sent at once."""

    action: str
    fields: list[tuple[str, str]]
    is_sure: bool

    @property
    def text(self) -> str:
        """Return the text that the visitor wrote; "" for forms without one."""
        return dict(self.fields).get("text", "")


def keep_form(request: HttpRequest, *, is_sure: bool = True) -> str:
    """Keep the form that the request submits. Return the address that submits it again; "" if none is kept.

    is_sure: False if the visitor has to confirm it, because it may be of another reader's page.
    Passwords, card numbers and other sensitive fields are left out, and have to be typed again.
    """
    if not _may_keep(request):
        return ""
    fields = _list_fields(request)
    if sum(len(name) + len(value) for name, value in fields) > MAX_CHARACTERS:
        return ""
    if LOGIN_KEY in request.session and not request.user.is_authenticated:
        # SQL did not confirm this login, so the data may be forged: a save would make them true.
        request.session.flush()
    key, kept = get_random_string(12), request.session.get(SESSION_KEY, {})
    newest = dict(list(kept.items())[1 - MAX_FORMS :])
    request.session[SESSION_KEY] = newest | {key: [request.get_full_path(), fields, get_author(request), is_sure]}
    return reverse("accounts:resume", args=[key])


def take_form(request: HttpRequest, key: str) -> KeptForm | None:
    """Remove a kept form from the session and return it; None if the session has no such form of this reader."""
    kept = dict(request.session.get(SESSION_KEY, {}))
    if key not in kept:
        return None
    action, fields, author, is_sure = kept.pop(key)
    request.session[SESSION_KEY] = kept
    if author not in ("", get_author(request)):
        return None
    return KeptForm(action, [(name, value) for name, value in fields], is_sure)


def forget_forms_of_others(request: HttpRequest, user_id: int) -> None:
    """Remove the kept forms of other readers from the session in which this user logs in."""
    kept = request.session.get(SESSION_KEY, {})
    own = {key: form for key, form in kept.items() if form[2] in ("", make_mark(user_id))}
    if own != kept:
        request.session[SESSION_KEY] = own


def _may_keep(request: HttpRequest) -> bool:
    """Return whether the request submits a form that can be repeated. Those of the account contain passwords or end
    sessions, also the one that the login begins.
    """
    is_form = request.method == "POST" and request.content_type in FORM_TYPES
    is_of_account = request.path.startswith(reverse("accounts:account"))
    return is_form and not is_of_account and _get_sensitive(request) != ALL_FIELDS


def _get_sensitive(request: HttpRequest) -> Sequence[str]:
    """Return the names of sensitive fields, which Django's decorator sets."""
    sensitive: Sequence[str] = getattr(request, "sensitive_post_parameters", ())
    return sensitive


def _list_fields(request: HttpRequest) -> list[tuple[str, str]]:
    left_out = {"csrfmiddlewaretoken", *_get_sensitive(request)}
    return [
        (name, value)
        for name, values in request.POST.lists()
        if name not in left_out and "password" not in name
        for value in values
    ]
