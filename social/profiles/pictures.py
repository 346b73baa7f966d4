"""Pictures of readers, squares in two sizes: on cards, and on the profile."""

from typing import Final

from common.pictures import PictureFiles

AVATARS: Final = PictureFiles("avatars", ((96, 96), (384, 384)))
SIZES: Final = tuple(width for width, _ in AVATARS.sizes)
