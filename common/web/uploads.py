"""Discard uploaded files, because the site accepts none."""

from typing import Any

from django.core.files.uploadhandler import FileUploadHandler, SkipFile


class SkipFilesHandler(FileUploadHandler):
    """An upload handler that skips every file. Django's handlers would write it to memory or to the disk."""

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        raise SkipFile

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        return None

    def file_complete(self, file_size: int) -> None:
        return None
