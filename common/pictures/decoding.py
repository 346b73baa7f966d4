"""Decode uploads. A hostile file is refused before it costs much time or memory."""

from io import BytesIO
from typing import Final

from django.utils.translation import gettext_lazy as _
from PIL import Image, ImageOps

from common.refusals import Refused

MAX_BYTES: Final = 5 * 1024 * 1024
MAX_PIXELS: Final = 40_000_000
# No SVG, which may contain scripts, and no formats with rarely used decoders.
FORMATS: Final = ("JPEG", "PNG", "WEBP", "GIF")
PAPER: Final = "#fff"  # behind transparent pictures


class PictureRefused(Refused):
    """The file is no picture that the site accepts."""

    message = _("This file is not a picture in JPEG, PNG, WebP or GIF.")


class PictureTooLarge(Refused):
    """The file or the picture is too large."""

    message = _("The picture is too large: at most 5 MB and 40 megapixels.")


def decode_picture(content: bytes, largest: tuple[int, int]) -> Image.Image:
    """Return an upload without transparency, at least as large as ``largest`` if it was.

    Raises PictureRefused and PictureTooLarge.
    """
    try:
        with Image.open(BytesIO(content), formats=FORMATS) as opened:
            # Before the pixels are decoded: a small file may contain billions of them.
            if opened.width * opened.height > MAX_PIXELS:
                raise PictureTooLarge
            # JPEG is decoded at a fraction of its size, which is still larger than the result.
            opened.draft("RGB", (2 * largest[0], 2 * largest[1]))
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
