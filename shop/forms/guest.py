"""The form in which a guest asks for the link to an order."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from common.ids import parse_id
from shop.models import Order


class GuestLinkForm(forms.Form):
    """The number of an order, with or without "#", and the email address that it was placed with."""

    number = forms.CharField(
        label=_("Order number"), max_length=20, widget=forms.TextInput(attrs={"inputmode": "numeric"})
    )
    email = forms.EmailField(
        label=_("Email address"),
        max_length=Order._meta.get_field("email").max_length,
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )

    def clean_number(self) -> Any:
        number = parse_id(self.cleaned_data["number"].strip().removeprefix("#"))
        if number is None:
            raise ValidationError(_("Enter the number of the order, for example 1234."))
        return number
