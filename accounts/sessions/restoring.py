"""Restore the session of a request after a failed transaction."""

from collections.abc import Generator
from contextlib import contextmanager

from django.http import HttpRequest


@contextmanager
def restore_session_on_error(request: HttpRequest) -> Generator[None, None, None]:
    """After an error in the block, give the request the session and the user that it had before.

    Otherwise its session would claim a login or a token that was not saved.
    """
    user, session = getattr(request, "user", None), request.session
    key = session.session_key
    try:
        yield
    except BaseException:
        request.session = type(session)(key)
        if user is not None:
            request.user = user
        raise
