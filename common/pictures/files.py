"""Uploaded pictures. An upload is decoded and encoded again in several sizes, so nothing else of the file is kept.

The name of a file contains a hash of its owner and the content, so a file never changes and browsers keep it for good.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from typing import Final

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.http import FileResponse, Http404, HttpResponseBase
from PIL import Image, ImageOps

from common.pictures.decoding import MAX_BYTES, PictureTooLarge, decode_picture

QUALITY: Final = 82  # of WebP: AVIF is smaller, but slower to encode, and older phones do not show it
NAME_LENGTH: Final = 24
FILE_CACHE_CONTROL: Final = "public, max-age=31536000, immutable"


@dataclass(frozen=True, eq=False)
class EncodedPicture:
    """A picture that was encoded again. content: the upload. files: the new files by width.

    The audit log shows it as text.
    """

    content: bytes
    files: dict[int, bytes]

    def __str__(self) -> str:
        return f"{len(self.content):,} bytes"


@dataclass(frozen=True)
class PictureFiles:
    """The files of one kind of pictures. folder: in the storage. sizes: width and height in pixels, smallest first.

    is_whole: a picture of another shape gets a border, and is not cut.
    """

    folder: str
    sizes: Sequence[tuple[int, int]]
    is_whole: bool = False

    @cached_property
    def file_pattern(self) -> re.Pattern[str]:
        """The names of files."""
        widths = "|".join(str(width) for width, _ in self.sizes)
        return re.compile(rf"[0-9a-f]{{{NAME_LENGTH}}}-(?:{widths})\.webp")

    def encode(self, content: bytes) -> EncodedPicture:
        """Return an upload in all sizes. Raises PictureRefused and PictureTooLarge."""
        if len(content) > MAX_BYTES:
            raise PictureTooLarge
        picture = decode_picture(content, self.sizes[-1])
        files = {width: self._encode_size(picture, (width, height)) for width, height in self.sizes}
        return EncodedPicture(content, files)

    def _encode_size(self, picture: Image.Image, size: tuple[int, int]) -> bytes:
        if self.is_whole:
            # A border in the mean colour of the picture.
            colour = picture.resize((1, 1), Image.Resampling.BOX).getpixel((0, 0))
            fitted = ImageOps.pad(picture, size, color=colour)  # type: ignore[arg-type]  # a tuple, as the mode is RGB
        else:
            fitted = ImageOps.fit(picture, size)
        made = BytesIO()
        # Only the pixels: the new file has neither a place nor other data of the camera.
        fitted.save(made, "WEBP", quality=QUALITY)
        return made.getvalue()

    def make_name(self, owner: str, content: bytes) -> str:
        """Return the name of an upload of this owner."""
        # With the owner, so that no other row has this file, and no name can be guessed from a picture.
        return hashlib.sha256(f"{owner}\0".encode() + content).hexdigest()[:NAME_LENGTH]

    def store(self, owner: str, picture: EncodedPicture) -> str:
        """Store a picture in all sizes and return its name."""
        name = self.make_name(owner, picture.content)
        for width, file in picture.files.items():
            path = self.build_path(name, width)
            if not default_storage.exists(path):
                default_storage.save(path, ContentFile(file))
        return name

    def delete(self, name: str) -> None:
        """Delete the files of a picture, if they exist."""
        for width, _height in self.sizes:
            default_storage.delete(self.build_path(name, width))

    def read_largest(self, name: str) -> bytes:
        """Return the largest file of a picture. Raises OSError if it is missing."""
        with default_storage.open(self.build_path(name, self.sizes[-1][0])) as file:
            return bytes(file.read())

    def build_file_name(self, name: str, width: int) -> str:
        """Return the name of a file in the folder."""
        return f"{name}-{width}.webp"

    def build_path(self, name: str, width: int) -> str:
        """Return the path of a file in the storage."""
        return f"{self.folder}/{self.build_file_name(name, width)}"

    def serve(self, file: str) -> HttpResponseBase:
        """Return a file. Its name changes with its content, so browsers keep it."""
        path = f"{self.folder}/{file}"
        if not self.file_pattern.fullmatch(file) or not default_storage.exists(path):
            raise Http404
        response = FileResponse(default_storage.open(path), content_type="image/webp")
        response.headers["Cache-Control"] = FILE_CACHE_CONTROL
        return response
