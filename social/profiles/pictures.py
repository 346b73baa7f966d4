"""Pictures of readers. An upload is decoded and encoded again in two sizes, so nothing else of the file is kept.

The name of a file contains a hash of the reader and the content, so a file never changes and browsers keep it for good.
"""

import hashlib
import re
from io import BytesIO
from typing import Final

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.utils.translation import gettext_lazy as _
from PIL import Image, ImageOps

from common.refusals import Refused

MAX_BYTES: Final = 5 * 1024 * 1024
MAX_PIXELS: Final = 40_000_000
# No SVG, which may contain scripts, and no formats with rarely used decoders.
FORMATS: Final = ("JPEG", "PNG", "WEBP", "GIF")
SIZES: Final = (96, 384)  # pixels: on cards, and on the profile
PAPER: Final = "#fff"  # behind transparent pictures
_NAME_LENGTH: Final = 24
file_pattern = re.compile(rf"[0-9a-f]{{{_NAME_LENGTH}}}-(?:{'|'.join(map(str, SIZES))})\.webp")


class PictureRefused(Refused):
    """The file is no picture that the site accepts."""

    message = _("This file is not a picture in JPEG, PNG, WebP or GIF.")


class PictureTooLarge(Refused):
    """The file or the picture is too large."""

    message = _("The picture is too large: at most 5 MB and 40 megapixels.")


def store_picture(user_id: int, content: bytes) -> str:
    """Store an uploaded picture in both sizes and return its name. Raises PictureRefused and PictureTooLarge."""
    if len(content) > MAX_BYTES:
        raise PictureTooLarge
    picture = _decode(content)
    # With the reader, so that no one else's file has this name, and none can be guessed from a picture.
    name = hashlib.sha256(f"{user_id}\0".encode() + content).hexdigest()[:_NAME_LENGTH]
    for size in SIZES:
        path = build_file_path(name, size)
        if not default_storage.exists(path):
            default_storage.save(path, ContentFile(_encode(picture, size)))
    return name


def delete_picture(name: str) -> None:
    """Delete the files of a picture, if they exist."""
    for size in SIZES:
        default_storage.delete(build_file_path(name, size))


def build_file_path(name: str, size: int) -> str:
    """Return the path of a file in the storage."""
    return f"avatars/{name}-{size}.webp"


def _decode(content: bytes) -> Image.Image:
    try:
        with Image.open(BytesIO(content), formats=FORMATS) as opened:
            # Before the pixels are decoded: a small file may contain billions of them.
            if opened.width * opened.height > MAX_PIXELS:
                raise PictureTooLarge
            # JPEG is decoded at a fraction of its size, which is still larger than the result.
            opened.draft("RGB", (2 * SIZES[-1], 2 * SIZES[-1]))
            return _flatten(ImageOps.exif_transpose(opened))
    except Image.DecompressionBombError as error:
        raise PictureTooLarge from error
    # Decoders raise many kinds of errors for a broken file.
    except (OSError, ValueError, SyntaxError, EOFError, IndexError, KeyError, TypeError) as error:
        raise PictureRefused from error


def _flatten(picture: Image.Image) -> Image.Image:
    """Return the first frame without transparency."""
    clear = picture.convert("RGBA")
    ground = Image.new("RGB", clear.size, PAPER)
    ground.paste(clear, mask=clear.getchannel("A"))
    return ground


def _encode(picture: Image.Image, size: int) -> bytes:
    made = BytesIO()
    # Only the pixels: the new file has neither a place nor other data of the camera.
    ImageOps.fit(picture, (size, size)).save(made, "WEBP", quality=82)
    return made.getvalue()
