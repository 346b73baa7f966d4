"""Uploaded pictures: of readers, books and authors."""

from common.pictures.decoding import MAX_BYTES, PictureTooLarge
from common.pictures.files import EncodedPicture, PictureFiles

__all__ = [
    "MAX_BYTES",
    "EncodedPicture",
    "PictureFiles",
    "PictureTooLarge",
]
