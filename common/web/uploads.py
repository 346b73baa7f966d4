"""Uploaded files: views that accept one get it in memory, and all others are discarded."""

from collections.abc import Callable
from io import BytesIO
from typing import Any, TypeVar

from django.core.files.uploadedfile import InMemoryUploadedFile
from django.core.files.uploadhandler import FileUploadHandler, SkipFile

View = TypeVar("View", bound=Callable[..., Any])
_ATTRIBUTE = "max_file_bytes"


def accept_files(max_bytes: int) -> Callable[[View], View]:
    """Decorate a view that accepts files of up to this size from logged-in visitors.

    A file that is longer has its ``size`` and no content. It must be the outermost decorator.
    """

    def decorate(view: View) -> View:
        setattr(view, _ATTRIBUTE, max_bytes)
        return view

    return decorate


class AcceptedFilesHandler(FileUploadHandler):
    """An upload handler that keeps the files of views that accept them. Django's would keep those of all forms."""

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        self.limit, self.received = self._find_limit(), BytesIO()
        if not self.limit:
            raise SkipFile

    def _find_limit(self) -> int:
        # The form is first read by the CSRF middleware, after the address was resolved and the session was opened.
        request: Any = self.request
        match = request.resolver_match if request is not None else None
        if match is None or not request.user.is_authenticated:
            return 0
        return int(getattr(match.func, _ATTRIBUTE, 0))

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        if start + len(raw_data) <= self.limit:
            self.received.write(raw_data)

    def file_complete(self, file_size: int) -> Any:
        content = self.received if file_size <= self.limit else BytesIO()
        content.seek(0)
        return InMemoryUploadedFile(
            content, self.field_name, str(self.file_name), self.content_type, file_size, self.charset
        )
