"""Record the permissions that a request asks for, so that one request stands for all staff whom the site treats alike.

Members of staff who are no superusers differ in their names and permissions alone. If the questions of a request have
the same answers for two of them, the code takes the same way for both, and their responses are equal.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any, Final
from unittest import mock

from django.contrib.auth.backends import ModelBackend
from django.db import connection

from accounts.models import User
from accounts.sessions import rows

QUESTIONS: Final = ("has_perm", "has_module_perms")
LISTS: Final = ("get_all_permissions", "_get_permissions", "_aget_permissions")
TABLES: Final = ("auth_permission", "auth_group", User.groups.through._meta.db_table)


class Rights:
    """What a request asked about the permissions of its user, and the answers.

    is_complete: False if the request read permissions in another way, for example the list of all.
    """

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], bool] = {}
        self.is_complete = True
        self._depth = 0  # of calls whose own reads are not questions

    def hold_for(self, user: User) -> bool:
        """Return whether the same request asks the same of this user, and gets the same answers."""
        return self.is_complete and all(
            getattr(user, question)(name) == answer for (question, name), answer in self.answers.items()
        )

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Record the questions during the block."""
        with ExitStack() as stack:
            for name in QUESTIONS:
                stack.enter_context(_wrapped(ModelBackend, name, self._record))
            for name in LISTS:
                stack.enter_context(_wrapped(ModelBackend, name, self._notice))
            # The session compares a digest of the rights, which no request of the matrix changes.
            stack.enter_context(_wrapped(rows, "read_rights", self._ignore))
            stack.enter_context(connection.execute_wrapper(self._notice_statement))
            yield

    def _record(self, answer: Callable[..., bool], *args: Any, **options: Any) -> bool:
        found = self._ignore(answer, *args, **options)
        _backend, _user, name, *of_object = args
        if not any(of_object):  # Django grants nobody a permission for a single object
            self.answers[answer.__name__, name] = found
        return found

    def _ignore(self, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
        self._depth += 1
        try:
            return call(*args, **options)
        finally:
            self._depth -= 1

    def _notice(self, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
        self.is_complete &= self._depth > 0
        return call(*args, **options)

    def _notice_statement(self, execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if any(table in sql for table in TABLES):
            self.is_complete &= self._depth > 0
        return execute(sql, *rest)


def _wrapped(owner: Any, name: str, wrapper: Callable[..., Any]) -> Any:
    """Return a patch that lets ``wrapper`` call a function."""
    function = getattr(owner, name)

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        return wrapper(function, *args, **options)

    return mock.patch.object(owner, name, call)
