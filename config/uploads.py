"""Uploads: the site takes none, and so keeps no file, however large, that somebody sends with a form."""

from typing import Any

from django.core.files.uploadhandler import FileUploadHandler, SkipFile


class NoFiles(FileUploadHandler):
    """Skip every file of a form. Django's own handlers would write it to memory or to the disk."""

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        raise SkipFile

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        return None

    def file_complete(self, file_size: int) -> None:
        return None
