"""The four steps, and how far a reader has come. That follows from what the reader has done, here or elsewhere."""

from typing import Any, Final, NamedTuple

from django.db.models import QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from catalog.library.models import LibraryImport
from catalog.shelves.models import ShelfEntry
from social.models import Follow, FollowRequest
from social.welcome.models import ChosenGenre

GENRES: Final = "genres"
BOOKS: Final = "books"
READERS: Final = "readers"
LIBRARY: Final = "library"
TITLES: Final[dict[str, str | Promise]] = {
    GENRES: _("Choose three genres"),
    BOOKS: _("Rate ten books"),
    READERS: _("Follow five readers"),
    LIBRARY: _("Import your library"),
}
WANTED: Final = {GENRES: 3, BOOKS: 10, READERS: 5, LIBRARY: 1}
NAMES: Final = tuple(TITLES)


class Step(NamedTuple):
    """A step. done, wanted: numbers of genres, books, readers or imports; done is at most wanted."""

    name: str
    number: int
    title: str | Promise
    done: int
    wanted: int

    @property
    def is_done(self) -> bool:
        """Whether the reader has done all of it."""
        return self.done >= self.wanted

    @property
    def view(self) -> str:
        """The name of the view."""
        return f"welcome:{self.name}"


class Progress(NamedTuple):
    """All steps in their order. current: the one that a page shows, or None."""

    steps: list[Step]
    current: Step | None

    @property
    def done(self) -> int:
        """The number of steps that are done."""
        return sum(step.is_done for step in self.steps)

    @property
    def next_view(self) -> str:
        """The name of the view after the current step: the front page after the last one."""
        number = self.current.number if self.current else 0
        return self.steps[number].view if number < len(self.steps) else "home"


def find_progress(user_id: int, current: str = "") -> Progress:
    """Return how far a reader has come, from SQL in five queries. current: the name of the step that is shown."""
    follows = Follow.objects.filter(follower_id=user_id)
    requests = FollowRequest.objects.filter(follower_id=user_id)
    rows: dict[str, list[QuerySet[Any]]] = {
        GENRES: [ChosenGenre.objects.filter(user_id=user_id)],
        BOOKS: [ShelfEntry.objects.filter(user_id=user_id, stars__isnull=False)],
        READERS: [follows, requests],
        LIBRARY: [LibraryImport.objects.filter(user_id=user_id)],
    }
    steps = []
    for number, (name, title) in enumerate(TITLES.items(), start=1):
        wanted = WANTED[name]
        # Slices, so that a reader of thousands of books costs no more than a new one.
        done = sum(found[:wanted].count() for found in rows[name])
        steps.append(Step(name, number, title, min(done, wanted), wanted))
    return Progress(steps, next((step for step in steps if step.name == current), None))
