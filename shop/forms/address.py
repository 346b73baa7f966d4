"""The form of an address, with the fields of its country."""

from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.forms.utils import flatatt
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from accounts.words import check_company, check_line, check_words
from shop.addresses.countries import list_codes, list_countries
from shop.addresses.formats import (
    FIELD_NAMES,
    AddressErrors,
    AddressFormat,
    format_address,
    get_format,
    list_regions,
    normalise,
)
from shop.services.addresses import PostalAddress

MAX_LINE_LENGTH: Final = 120
MAX_STREET_LENGTH: Final = 300
MAX_PHONE_LENGTH: Final = 30
MIN_PHONE_DIGITS: Final = 4
AUTOCOMPLETE: Final = {
    "company": "organization",
    "street": "address-line1",
    "district": "address-level3",
    "city": "address-level2",
    "region": "address-level1",
    "postcode": "postal-code",
    "sorting": "off",
}


def check_phone(text: str) -> None:
    """Refuse text with fewer digits than any telephone number. Raises ValidationError."""
    if sum(letter.isdigit() for letter in text) < MIN_PHONE_DIGITS:
        raise ValidationError(gettext("Enter a phone number, or leave the field empty."), code="invalid")


# A choice shows the fields of another country. The card number never leaves the form for anything but a payment.
REFRESHING: Final = {
    "hx-post": "",
    "hx-trigger": "change delay:200ms",  # a country that is typed passes through others
    "hx-target": "#address-page",
    "hx-swap": "outerHTML",
    "hx-params": "not card,expiry,code",
    "hx-vals": '{"refresh": "1"}',
    "hx-sync": "closest form:replace",
}


class AddressForm(forms.Form):
    """An address. Its fields are those of the chosen country, in the order of the parcel.

    After validation, ``parts`` has the fields by name and ``text`` the address as on the parcel.
    """

    name = forms.CharField(
        label=pgettext_lazy("of who gets a parcel", "Name"),
        max_length=150,
        required=False,
        validators=[check_line],
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    country = forms.ChoiceField(label=_("Country"), error_messages={"invalid_choice": _("Choose a country.")})
    phone = forms.CharField(
        label=_("Phone (optional)"),
        max_length=MAX_PHONE_LENGTH,
        required=False,
        validators=[check_line, check_phone],
        help_text=_("Only for questions about the delivery."),
        widget=forms.TextInput(attrs={"type": "tel", "autocomplete": "tel"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.parts: dict[str, str] = {}
        self.text = ""
        self.fields["country"] = _make_country_field(self.fields["country"], self.list_countries())
        self.format = self._find_format()
        for name in self.format.fields:
            self.fields[name] = _make_field(name, self.format, has_lines="\n" in self._get_value(name))
        self.order_fields(["name", "company", "country", *self.format.fields, "phone"])

    def list_countries(self) -> list[tuple[str, str]]:
        """Return code and name of each country that can be chosen."""
        return list_countries()

    def _find_format(self) -> AddressFormat:
        country, region, city = (self._get_value(name) for name in ("country", "region", "city"))
        return get_format(country, region, city) if country in list_codes() else get_format("")

    def _get_value(self, name: str) -> str:
        """Return the typed or the initial value of a field that decides about others."""
        source = self.data if self.is_bound else self.initial
        return str(source.get(name) or "")

    @property
    def address_fields(self) -> list[forms.BoundField]:
        """The fields of the address, in order. The template shows them beside those of derived forms."""
        return [self[name] for name in self.fields if name in FIELD_NAMES or name in ("name", "country", "phone")]

    @property
    def other_fields(self) -> dict[str, str]:
        """What was typed into fields that the chosen country lacks. The page keeps it for another choice."""
        found = {name: self._get_value(name) for name in FIELD_NAMES if name not in self.fields}
        return {name: text for name, text in found.items() if text}

    @property
    def refreshing(self) -> SafeString:
        """The attributes of an input whose choice shows the page again."""
        return flatatt(REFRESHING)

    def make_address(self) -> PostalAddress:
        """Return the address of a valid form."""
        given = self.cleaned_data
        return PostalAddress(given["name"], self.text, given["country"], self.parts, given["phone"])

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        # A company needs no name of a person, and is then the first line of the parcel.
        if not cleaned.get("name"):
            cleaned["name"], cleaned["company"] = cleaned.get("company", ""), ""
        if not cleaned["name"] and "name" not in self.errors:
            self.add_error("name", ValidationError(gettext("Enter a name or a company."), code="required"))
        country = cleaned.get("country")
        # Errors of single fields come first: an incomplete address would cause the same errors twice.
        if not country or any(name in self.errors for name in self.format.fields):
            return cleaned
        try:
            self.parts = normalise(country, {name: cleaned[name] for name in self.format.fields})
        except AddressErrors as errors:
            for name, why in errors.fields.items():
                self.add_error(name if name in self.fields else "country", _describe_error(name, why, self.format))
        else:
            self.text = format_address(country, self.parts)
        return cleaned


def _make_country_field(field: forms.Field, countries: list[tuple[str, str]]) -> forms.ChoiceField:
    """Return the field of the country. htmx shows the fields of another country as soon as it is chosen."""
    choices = [("", "---------"), *countries]
    attrs = {"class": "input", "autocomplete": "country", **REFRESHING}
    return forms.ChoiceField(
        label=field.label, choices=choices, error_messages=field.error_messages, widget=forms.Select(attrs=attrs)
    )


def _make_field(name: str, shown: AddressFormat, *, has_lines: bool = False) -> forms.Field:
    """Return a field of an address. has_lines: whether its text has several lines."""
    label, required = shown.labels[name], name in shown.required
    options: dict[str, Any] = {"label": label, "required": required}
    attrs = {"autocomplete": "street-address" if has_lines else AUTOCOMPLETE[name]}
    if not required:
        options["label"] = _("%(field)s (optional)") % {"field": label}
    if name == "region" and shown.regions:
        choices = [("", "---------"), *list_regions(shown, is_latin=not (get_language() or "").startswith("zh"))]
        select = forms.Select(attrs={"class": "input", **attrs, **(REFRESHING if shown.suggestions["city"] else {})})
        return forms.ChoiceField(choices=choices, widget=select, **options)
    if name == "street":
        # An input would join the lines of an older address.
        widget = forms.Textarea(attrs={"rows": 2, **attrs}) if has_lines else forms.TextInput(attrs=attrs)
        return forms.CharField(max_length=MAX_STREET_LENGTH, validators=[check_words], widget=widget, **options)
    if name == "postcode" and shown.postcode_example:
        options["help_text"] = _("For example %(example)s.") % {"example": shown.postcode_example}
    if shown.suggestions.get(name):
        attrs["list"] = f"known-{name}"  # the template has the list
    line = forms.TextInput(attrs=attrs)
    check = check_company if name == "company" else check_line
    return forms.CharField(max_length=MAX_LINE_LENGTH, validators=[check], widget=line, **options)


def _describe_error(name: str, why: str, shown: AddressFormat) -> ValidationError:
    if why == "required":
        return ValidationError(gettext("This field is required."), code="required")
    if name == "postcode" and shown.postcode_example:
        text = gettext("This postcode does not match the address. A valid one is, for example, %(example)s.")
        return ValidationError(text % {"example": shown.postcode_example}, code="invalid")
    return ValidationError(gettext("This does not match the address. Check both."), code="invalid")
