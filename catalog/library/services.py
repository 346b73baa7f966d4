"""Start, continue and undo imports."""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.users import find_zone
from catalog.library.changes import Chunk, apply_chunk, delete_empty_lists, undo_chunk
from catalog.library.formats import SERVICES, ImportedBook, Table, read_row
from catalog.library.matching import match_books
from catalog.library.models import OPEN, WORKING, ImportRow, LibraryImport, State, Step
from common import clock
from common.database import repeat_after_conflict, split_slices
from mirror.relay import send

CHUNK_SIZE: Final = 100  # rows in a transaction
RUN_SECONDS: Final = 60.0  # of one task; the next one continues
UPLOAD_SECONDS: Final = 300.0  # after which the upload of a killed process is forgotten
MAX_KEPT: Final = 5  # imports of a reader
TASK: Final = "library.tasks.run"


class ImportRefused(Exception):
    """The import cannot begin. The text tells the reader what to do."""


class ImportIsOpen(ImportRefused):
    """The reader has an import that is not finished."""

    def __str__(self) -> str:
        return _("Another import is not finished. Finish it or delete its file first.")


class TooManyImports(ImportRefused):
    """The reader has as many imports as are kept."""

    def __str__(self) -> str:
        text = _(
            "We keep your last %(n)s imports so that you can undo them."
            " Delete the file of one of them to import the next one."
        )
        return text % {"n": MAX_KEPT}


def start_import(user_id: int, file_name: str, table: Table) -> LibraryImport:
    """Store the rows of a file, and let a worker find their books. Raises ImportIsOpen and TooManyImports."""
    # An upload that was interrupted has no rows that anybody needs. A younger one may go on in another request.
    long_ago = clock.now() - timedelta(seconds=UPLOAD_SECONDS)
    LibraryImport.objects.filter(user_id=user_id, state=State.LOADING, created_at__lt=long_ago).delete()
    if LibraryImport.objects.filter(user_id=user_id).count() >= MAX_KEPT:
        raise TooManyImports
    try:
        made = LibraryImport.objects.create(
            user_id=user_id,
            service=table.service.name,
            file_name=file_name[:100],
            total=len(table.rows),
            details=table.details,
        )
    except IntegrityError as error:
        raise ImportIsOpen from error
    rows = (ImportRow(library_import=made, number=n, raw=raw) for n, raw in enumerate(table.rows, start=1))
    for some in split_slices(rows):
        ImportRow.objects.bulk_create(some)
    _set_state(made.pk, State.LOADING, State.MATCHING)
    return made


def confirm_import(user_id: int, pk: int) -> bool:
    """Let a worker apply the rows whose books were found. Return False if the import is in another state."""
    return any(_set_state(pk, state, State.APPLYING, user_id) for state in (State.READY, State.DONE, State.UNDONE))


def undo_import(user_id: int, pk: int) -> bool:
    """Let a worker undo what the import changed. Return False if it has changed nothing yet, or is working."""
    return _set_state(pk, State.DONE, State.UNDOING, user_id)


def discard_import(user_id: int, pk: int) -> bool:
    """Delete an import, but not what it changed. Return False if a worker is busy with it."""
    found = LibraryImport.objects.filter(pk=pk, user_id=user_id).exclude(state__in=OPEN)
    return bool(found.delete()[0])


@repeat_after_conflict
def choose_book(user_id: int, pk: int, number: int, book_id: int | None) -> bool:
    """Choose one of the candidates of a row in doubt, or none of them. Return False if that is not possible."""
    with transaction.atomic():
        rows = ImportRow.objects.select_for_update().filter(library_import__user_id=user_id, library_import=pk)
        row = rows.filter(number=number, step=Step.DOUBT).first()
        if row is None or (book_id is not None and book_id not in row.candidates):
            return False
        row.book_id, row.step = book_id, Step.MISSING if book_id is None else Step.FOUND
        row.save(update_fields=["book", "step"])
    return True


def run_import(pk: int, seconds: float = RUN_SECONDS) -> bool:
    """Continue an import for a while. Return whether work is left.

    Each chunk is a transaction with the progress in it, so a killed run is continued by any other, and two runs at the
    same time do no harm.
    """
    deadline = time.monotonic() + seconds
    steps: dict[str, Callable[[int], bool]] = {
        State.MATCHING: _match_chunk,
        State.APPLYING: _apply_next,
        State.UNDOING: _undo_next,
    }
    while time.monotonic() < deadline:
        state = LibraryImport.objects.filter(pk=pk).values_list("state", flat=True).first()
        if state not in steps:
            return False
        steps[state](pk)
    return True


def find_working() -> list[int]:
    """Return the ids of the imports that work is left for, oldest first."""
    return list(LibraryImport.objects.filter(state__in=WORKING).order_by("pk").values_list("pk", flat=True))


def read_rows(load: LibraryImport, rows: list[ImportRow]) -> list[ImportedBook]:
    """Return what these rows tell."""
    service = SERVICES[load.service]
    return [read_row(service, row.raw) for row in rows]


def _match_chunk(pk: int) -> bool:
    """Find the books of the next rows. Outside of a transaction, because a search takes milliseconds."""
    load = LibraryImport.objects.get(pk=pk)
    # Without a lock: a second run that finds the same books is only a waste.
    rows = list(load.rows.filter(step=Step.PENDING).order_by("number")[:CHUNK_SIZE])
    if not rows:
        return _set_state(pk, State.MATCHING, State.READY)
    matches = match_books(read_rows(load, rows))
    for row, match in zip(rows, matches, strict=True):
        row.step, row.book_id, row.candidates = match.step, match.book, list(match.candidates)
    _save_matches(rows)
    return True


@repeat_after_conflict
def _save_matches(rows: list[ImportRow]) -> None:
    with transaction.atomic():
        # Another run may have been faster, and the reader may have chosen a candidate since.
        waiting = set(
            ImportRow.objects.select_for_update()
            .filter(pk__in=[row.pk for row in rows], step=Step.PENDING)
            .values_list("pk", flat=True)
        )
        ImportRow.objects.bulk_update([row for row in rows if row.pk in waiting], ["step", "book", "candidates"])


@repeat_after_conflict
def _apply_next(pk: int) -> bool:
    with transaction.atomic():
        load = _lock(pk, State.APPLYING)
        if load is None:
            return False
        # The lock keeps the account from becoming private until lists that everyone sees are saved.
        reader = User.objects.select_for_update(no_key=True).get(pk=load.user_id)
        # That of the reader, as in the preview: a worker has the zone of the site.
        today = timezone.localdate(clock.now(), find_zone(reader.time_zone))
        rows = list(load.rows.filter(step__in=(Step.FOUND, Step.UNDONE)).order_by("number")[:CHUNK_SIZE])
        # The book may have been deleted since it was found.
        there = [row for row in rows if row.book_id]
        apply_chunk(load, Chunk(there, read_rows(load, there)), today)
        for row in rows:
            row.step = Step.APPLIED if row.book_id else Step.MISSING
        ImportRow.objects.bulk_update(rows, ["step", "changes"])
        load.state = State.APPLYING if rows else State.DONE
        load.save(update_fields=["state", "lists"])
    return True


@repeat_after_conflict
def _undo_next(pk: int) -> bool:
    with transaction.atomic():
        load = _lock(pk, State.UNDOING)
        if load is None:
            return False
        # The last row first, because it may have filled fields of an entry that an earlier row made.
        rows = list(load.rows.filter(step=Step.APPLIED).order_by("-number")[:CHUNK_SIZE])
        undo_chunk(load, rows)
        for row in rows:
            row.step = Step.UNDONE if row.book_id else Step.MISSING
        ImportRow.objects.bulk_update(rows, ["step", "changes"])
        if not rows:
            delete_empty_lists(load)
            load.state = State.UNDONE
        load.save(update_fields=["state", "lists"])
    return True


def _lock(pk: int, state: State) -> LibraryImport | None:
    """Return the import under its lock, which keeps two runs from the same rows, if it is in this state."""
    return LibraryImport.objects.select_for_update().filter(pk=pk, state=state).first()


@repeat_after_conflict
def _set_state(pk: int, before: State, state: State, user_id: int | None = None) -> bool:
    """Change the state. Return False if it is another one than ``before``, or the import another reader's."""
    rows = LibraryImport.objects.filter(pk=pk, state=before)
    if user_id is not None:
        rows = rows.filter(user_id=user_id)
    try:
        with transaction.atomic():
            is_changed = bool(rows.update(state=state))
    except IntegrityError:
        # Another import of this reader is open.
        return False
    if is_changed and state in WORKING:
        # If the broker does not take it, beat's task finds the import.
        transaction.on_commit(lambda: send.task(TASK, args=(pk,)))
    return is_changed
