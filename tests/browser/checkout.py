"""Fill the form of the checkout."""

from typing import Final

from playwright.sync_api import Page, expect

# By the labels of the fields.
UK_ADDRESS: Final = {"Street and number": "Moss Lane 1", "Town or city": "Little Town", "Postcode": "SW1A 1AA"}


def fill_address(page: Page, *, has_scripts: bool = True) -> None:
    """Choose a country, show its fields, and fill them. Scripts show the fields without the button."""
    page.get_by_label("Country").select_option("GB")
    if not has_scripts:
        page.get_by_role("button", name="Show the fields of this country").click()
    expect(page.get_by_label("Postcode")).to_be_visible()
    for label, text in UK_ADDRESS.items():
        page.get_by_label(label).fill(text)
