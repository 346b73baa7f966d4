"""A field for a picture on a row's page in the admin."""

from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display
from unfold.widgets import UnfoldAdminFileFieldWidget, UnfoldBooleanWidget

from accounts.admin_tools import ConcurrentEditForm
from catalog.pictures.files import show_photo, show_uploaded_cover
from catalog.pictures.services import COVER, PHOTO, PictureColumn, set_picture
from common.pictures import MAX_BYTES, EncodedPicture, PictureTooLarge
from common.refusals import Refused
from common.web import accept_files

PICTURE_FIELDS = ("shown_picture", "picture", "removes_picture")


class PictureForm(ConcurrentEditForm):
    """A form of a row with a picture. The picture is decoded here, so that a refusal is an error of its field."""

    kept: ClassVar[PictureColumn]

    picture = forms.FileField(
        label=_("new picture"),
        required=False,
        widget=UnfoldAdminFileFieldWidget(attrs={"accept": "image/jpeg,image/png,image/webp,image/gif"}),
        help_text=_("JPEG, PNG, WebP or GIF, at most 5 MB and 40 megapixels."),
    )
    removes_picture = forms.BooleanField(label=_("remove the picture"), required=False, widget=UnfoldBooleanWidget)

    def clean_picture(self) -> EncodedPicture | None:
        """Return the upload in all sizes, or None."""
        upload: UploadedFile | None = self.cleaned_data.get("picture")
        if upload is None:
            return None
        try:
            if (upload.size or 0) > MAX_BYTES:
                raise PictureTooLarge
            return self.kept.files.encode(upload.read())
        except Refused as error:
            raise ValidationError(str(error)) from error


class AuthorForm(PictureForm):
    """An author with a photo."""

    kept = PHOTO


class PictureAdminMixin:
    """Mixin of a model admin whose rows have a picture. ``fields`` contains PICTURE_FIELDS."""

    form: type[PictureForm]

    @accept_files(MAX_BYTES)
    def add_view(self, *args: Any, **kwargs: Any) -> Any:
        """Add a row. The form may have a file."""
        return super().add_view(*args, **kwargs)  # type: ignore[misc]

    @accept_files(MAX_BYTES)
    def change_view(self, *args: Any, **kwargs: Any) -> Any:
        """Change a row. The form may have a file."""
        return super().change_view(*args, **kwargs)  # type: ignore[misc]

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save the row, and then its picture: a new row has no number before."""
        super().save_model(request, obj, form, change)  # type: ignore[misc]
        picture = form.cleaned_data.get("picture")
        if picture or form.cleaned_data.get("removes_picture"):
            set_picture(self.form.kept, obj.pk, picture)

    @display(description=_("picture"))
    def shown_picture(self, row: Any) -> str | SafeString:
        """Return the present picture."""
        name = getattr(row, self.form.kept.column)
        if not name:
            return "–"
        return show_uploaded_cover(name) if self.form.kept is COVER else show_photo(name)
