"""Save and remove the addresses of readers."""

from collections.abc import Mapping
from typing import NamedTuple

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from common import clock
from common.database import repeat_after_conflict
from common.refusals import Refused
from shop.models import SavedAddress


class PostalAddress(NamedTuple):
    """An address. text: as on the parcel, without the name. parts: the fields by name. phone: may be empty."""

    name: str
    text: str
    country: str = ""
    parts: Mapping[str, str] = {}
    phone: str = ""


class TooManyAddresses(Refused):
    """The reader has ``settings.SHOP_SAVED_ADDRESSES`` addresses."""

    message = _("You have reached the maximum number of addresses. Remove one first.")


@repeat_after_conflict
def save_address(user_id: int, address: PostalAddress, replaced: int | None = None) -> SavedAddress:
    """Save an address, in the place of the reader's address ``replaced`` if there is one. Raises TooManyAddresses.

    An address that the reader has already is not saved twice.
    """
    with transaction.atomic():
        # Two windows that save at once must not exceed the limit.
        User.objects.select_for_update(no_key=True).get(pk=user_id)
        own = SavedAddress.objects.of_user(user_id)
        row = own.filter(pk=replaced or 0).first() or own.filter(name=address.name, address=address.text).first()
        if row is None:
            if own.count() >= settings.SHOP_SAVED_ADDRESSES:
                raise TooManyAddresses
            row = SavedAddress(user_id=user_id)
        row.name, row.address, row.country = address.name, address.text, address.country
        row.parts, row.phone, row.used_at = dict(address.parts), address.phone, clock.now()
        row.save()
    return row


def remove_address(user_id: int, address_id: int) -> bool:
    """Remove one of a reader's addresses. Return whether it existed."""
    removed, _rows = SavedAddress.objects.of_user(user_id).filter(pk=address_id).delete()
    return bool(removed)
