"""A small site: windows of five posts, pages of three posts, and tasks that wait.

Tasks that the site would send to Celery are collected in a list. A test runs them in any order, twice, or never.
"""

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any, NamedTuple
from unittest import mock

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory, override_settings

from accounts.models import User
from accounts.notifications.models import Notification
from catalog.shelves.models import ShelfEntry
from mirror import registry, tasks
from mirror.middleware import ReadYourWrites
from mirror.models import Change
from mirror.outbox import spread
from mirror.relay import drains, send
from mirror.windows import deliver, push, window
from social.models import Block, Follow, Hashtag, Like, Mention, Mute, Post, Pulled
from social.reviews.models import Review
from social.timelines import pages
from tests.support.social.town import WINDOWS

WINDOW, PAGE, FEW = 5, 3, 2
EMPTIED = (
    Notification, ShelfEntry, Review, Like, Mention, Hashtag, Post, Follow, Block, Mute, Pulled, Change,
)  # fmt: skip


class QueuedTask(NamedTuple):
    """A task that the site would have sent to Celery."""

    task: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def run(self) -> None:
        self.task(*self.args, **self.kwargs)


class Visitor:
    """A browser: each action is one request, and cookies are kept between requests."""

    def __init__(self) -> None:
        self.cookies: dict[str, str] = {}

    def request(self, action: Callable[[], Any]) -> Any:
        """Call ``action`` within a request and return its result."""
        found: list[Any] = []

        def respond(request: HttpRequest) -> HttpResponse:
            found.append(action())
            return HttpResponse()

        request = RequestFactory().get("/")
        request.COOKIES = dict(self.cookies)
        response = ReadYourWrites(respond)(request)
        for name, cookie in response.cookies.items():
            self.cookies.pop(name, None)
            if cookie.value:
                self.cookies[name] = cookie.value
        return found[0]


@contextmanager
def small_town() -> Generator[list[QueuedTask], None, None]:
    """Shrink all sizes, lift the time limits, and yield the list in which tasks are collected."""
    queued_tasks: list[QueuedTask] = []
    window.requests.reset()

    def keep(task: str, **options: Any) -> bool:
        args, kwargs = tuple(options.get("args", ())), dict(options.get("kwargs") or {})
        queued_tasks.append(QueuedTask(getattr(tasks, task), args, kwargs))
        return True

    with ExitStack() as stack:
        many = {**settings.MIRROR, "BATCH": 3, "CHUNK": 3, "BUDGET_SECONDS": 30}
        stack.enter_context(override_settings(MIRROR=many, SOCIAL_PULL_FOLLOWERS=FEW))
        for name in WINDOWS:
            stack.enter_context(mock.patch.object(type(registry.get(name)), "length", WINDOW))
        stack.enter_context(mock.patch.object(spread, "SLICE", FEW))
        stack.enter_context(mock.patch.multiple(pages, PAGE_SIZE=PAGE, EXTRA_IDS=1, FURTHER_IDS=(FEW, FEW)))
        stack.enter_context(mock.patch.multiple(deliver, BATCH=1, PUSH_BUSY_SECONDS=0))
        stack.enter_context(mock.patch.multiple(push, FIRST=FEW, SLICE=FEW, PUSH_BUDGET_SECONDS=30))
        stack.enter_context(mock.patch.object(send, "_send_hint", keep))
        stack.enter_context(mock.patch.object(drains, "lock_summaries", return_value=nullcontext(True)))
        yield queued_tasks


def delete_everything() -> None:
    """Delete all users and their posts."""
    for model in (*EMPTIED, User):
        model._base_manager.all()._raw_delete("default")
    Change.objects.all()._raw_delete("default")
