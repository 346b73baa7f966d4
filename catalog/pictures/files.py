"""The files of covers and photos, and their elements in pages."""

from typing import Final

from django.utils.html import format_html
from django.utils.safestring import SafeString

from common.paths import make_path
from common.pictures import PictureFiles

COVERS: Final = PictureFiles("covers", ((120, 180), (240, 360), (480, 720)), is_whole=True)
PHOTOS: Final = PictureFiles("authors", ((128, 128), (384, 384)))
# The widths at which pages show covers, for the browser's choice of a file.
COVER_WIDTHS: Final = "(max-width: 36rem) 5rem, 10rem"
LARGE_COVER_WIDTHS: Final = "(max-width: 48rem) 45vw, 18rem"
SHOWN_PHOTO: Final = 128  # pixels
# The alternative texts are empty, because the title or the name stands beside the picture.
_COVER: Final = (
    '<img class="cover" src="{}" srcset="{}" sizes="{}" width="120" height="180" alt="" decoding="async" {}>'
)
_PHOTO: Final = '<img class="avatar" src="{}" srcset="{} 3x" width="{}" height="{}" alt="" decoding="async">'


def show_uploaded_cover(name: str, is_large: bool = False) -> SafeString:
    """Return an uploaded cover. Only the large one, which is at the top of its page, is loaded at once."""
    paths = {width: _make_cover_path(name, width) for width, _height in COVERS.sizes}
    sources = ", ".join(f"{path} {width}w" for width, path in paths.items())
    widths = LARGE_COVER_WIDTHS if is_large else COVER_WIDTHS
    order = SafeString('fetchpriority="high"' if is_large else 'loading="lazy"')
    return format_html(_COVER, paths[COVERS.sizes[1][0]], sources, widths, order)


def show_photo(name: str) -> SafeString:
    """Return the photo of an author."""
    small, large = (make_path("author_photo", PHOTOS.build_file_name(name, width)) for width, _ in PHOTOS.sizes)
    return format_html(_PHOTO, small, large, SHOWN_PHOTO, SHOWN_PHOTO)


def _make_cover_path(name: str, width: int) -> str:
    return make_path("cover_file", COVERS.build_file_name(name, width))
