"""Pictures that staff upload: covers of books and photos of authors."""

from catalog.pictures.files import COVERS, PHOTOS, show_photo, show_uploaded_cover

__all__ = [
    "COVERS",
    "PHOTOS",
    "show_photo",
    "show_uploaded_cover",
]
