"""Pictures that staff upload: covers of books and photos of authors."""

from catalog.pictures.files import COVERS, PHOTOS, SHOWN_PHOTO, show_photo, show_uploaded_cover

__all__ = [
    "COVERS",
    "PHOTOS",
    "SHOWN_PHOTO",
    "show_photo",
    "show_uploaded_cover",
]
