"""Changes of covers and photos. Each may be repeated without further effect."""

from functools import partial
from typing import Any, Final, NamedTuple

from django.db import transaction

from catalog.models import Author, Book
from catalog.pictures.files import COVERS, PHOTOS
from common.database import repeat_after_conflict
from common.pictures import EncodedPicture, PictureFiles
from mirror.utils import after_commit


class PictureColumn(NamedTuple):
    """A column with the name of a picture, and its files."""

    model: Any
    column: str
    files: PictureFiles

    def make_name(self, pk: int, content: bytes) -> str:
        """Return the name of an upload for a row."""
        return self.files.make_name(self.make_owner(pk), content)

    def make_owner(self, pk: int) -> str:
        """Return the owner of a row's files."""
        return f"{self.files.folder}:{pk}"


COVER: Final = PictureColumn(Book, "cover", COVERS)
PHOTO: Final = PictureColumn(Author, "photo", PHOTOS)


def set_picture(column: PictureColumn, pk: int, picture: EncodedPicture | None) -> None:
    """Set the picture of a row, or remove it (None)."""
    name = column.files.store(column.make_owner(pk), picture) if picture else ""
    _replace_picture(column, pk, name)


@repeat_after_conflict
def _replace_picture(column: PictureColumn, pk: int, name: str) -> None:
    with transaction.atomic():
        row = column.model.objects.select_for_update().get(pk=pk)
        former = getattr(row, column.column)
        if former == name:
            return
        setattr(row, column.column, name)
        # Not ``update``: the signals of ``save`` bring it to Redis at once.
        row.save(update_fields=[column.column])
        delete_after_commit(column.files, former)


def delete_after_commit(files: PictureFiles, name: str) -> None:
    """Delete the files of a picture after the commit: a transaction that is rolled back must not lose them."""
    if name:
        after_commit(partial(files.delete, name))


def delete_files_of(sender: Any, instance: Any, **kwargs: Any) -> None:
    """Delete the files of a deleted row. A receiver of ``post_delete``."""
    for column in (COVER, PHOTO):
        if sender is column.model:
            delete_after_commit(column.files, getattr(instance, column.column))
