"""A payment provider that takes no money. The card number decides about its behaviour.

It records charges in its own table (``FakeCharge``) and its own transactions, like a remote system.
"""

import contextlib
import threading
import time
import urllib.request
from collections.abc import Mapping
from datetime import timedelta
from typing import Final, NamedTuple

from django.conf import settings
from django.db import connections, transaction
from django.db.models import F
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from common import clock
from common.database import repeat_after_conflict
from shop.models import FakeCharge, FakeRefund
from shop.payments import Answer, Means, Outcome, TestCard, TypedCard, fake_callbacks

HANG_SECONDS: Final = 60
CALLBACK_SECONDS: Final = 5


class Behaviour(NamedTuple):
    """The effect of a card. late: the provider answers only after the reservation has ended."""

    effect: str | Promise
    succeeds: bool = True
    charges: bool = True
    hangs: bool = False
    late: bool = False
    calls_back: int = 0


GOOD_CARD, REFUSED_CARD, CHARGED_HANGING_CARD, HANGING_CARD, TWO_CALLBACKS_CARD, LATE_CARD = (
    "4242424242424242",
    "4000000000000002",
    "4000000000000044",
    "4000000000000051",
    "4000000000000069",
    "4000000000000077",
)
CARDS: Final = {
    GOOD_CARD: Behaviour(_("succeeds")),
    REFUSED_CARD: Behaviour(_("is declined"), succeeds=False),
    CHARGED_HANGING_CARD: Behaviour(_("is charged, but the provider does not answer"), hangs=True),
    HANGING_CARD: Behaviour(_("is not charged, and the provider does not answer"), charges=False, hangs=True),
    TWO_CALLBACKS_CARD: Behaviour(_("succeeds, and the provider calls back twice"), calls_back=2),
    LATE_CARD: Behaviour(_("succeeds, but the provider reports it after the payment deadline"), late=True),
}
UNKNOWN_CARD: Final = Behaviour("", succeeds=False)


class FakeProvider:
    """The fake payment provider; see the module."""

    test_cards = tuple(TestCard(number, card.effect) for number, card in CARDS.items())
    page = None

    def charge(self, key: str, amount: int, means: Means) -> Answer:
        """Record the charge or refuse it. Some cards make the call hang afterwards."""
        number = means.number if isinstance(means, TypedCard) else ""
        does = CARDS.get(number, UNKNOWN_CARD)
        answer = self._enter(key, amount, does) if does.charges else Answer(Outcome.PENDING)
        for _n in range(does.calls_back):
            threading.Thread(target=send_callback, args=(key, answer), daemon=True).start()
        if does.hangs:
            connections.close_all()
            time.sleep(HANG_SECONDS)
        return answer

    def _enter(self, key: str, amount: int, does: Behaviour) -> Answer:
        late = timedelta(seconds=settings.SHOP_RESERVATION_SECONDS + 5 if does.late else 0)
        reason = "" if does.succeeds else gettext_noop("the card was declined")
        row = FakeCharge(amount=amount, succeeds=does.succeeds, reason=reason, answers_at=clock.now() + late)
        return self._once(key, row)

    def _once(self, key: str, row: FakeCharge) -> Answer:
        values = {name: getattr(row, name) for name in ("amount", "succeeds", "reason", "answers_at")}
        return _make_answer(FakeCharge.objects.get_or_create(key=key, defaults=values)[0])

    def find(self, key: str) -> Answer | None:
        """Return the recorded outcome."""
        row = FakeCharge.objects.filter(pk=key).first()
        return None if row is None else _make_answer(row)

    def give_up(self, key: str) -> Answer:
        """Record a failed charge under this key, unless the key has one already."""
        row = FakeCharge(amount=0, succeeds=False, reason=gettext_noop("nothing was charged"), answers_at=clock.now())
        return self._once(key, row)

    @repeat_after_conflict
    def refund(self, key: str, refund: str, amount: int) -> None:
        """Record a refund. Raises ValueError if more would be refunded than was charged."""
        with transaction.atomic():
            # The lock lets a repeated call wait, and then find the refund.
            charge = FakeCharge.objects.select_for_update().get(pk=key, succeeds=True)
            if FakeRefund.objects.filter(pk=refund).exists():
                return
            if charge.refunded + amount > charge.amount:
                raise ValueError("more would be refunded than was charged")
            FakeRefund.objects.create(key=refund, charge=charge, amount=amount, created_at=clock.now())
            FakeCharge.objects.filter(pk=key).update(refunded=F("refunded") + amount)

    def decode_callback(self, body: bytes, headers: Mapping[str, str]) -> tuple[str, Answer]:
        """Decode a callback, as ``fake_callbacks`` does."""
        return fake_callbacks.decode_callback(body, headers.get(fake_callbacks.HEADER, ""))


def _make_answer(row: FakeCharge) -> Answer:
    if row.answers_at > clock.now():
        return Answer(Outcome.PENDING)
    if not row.succeeds:
        return Answer(Outcome.FAILED, reason=row.reason)
    return Answer(Outcome.SUCCEEDED, reference=f"fake-{row.pk[:12]}")


def send_callback(key: str, answer: Answer) -> None:
    """Send the answer to the shop by HTTP. Failures are ignored, because the shop also asks by itself."""
    body = fake_callbacks.encode_callback(key, answer)
    headers = {fake_callbacks.HEADER: fake_callbacks.sign_callback(body), "Content-Type": "application/json"}
    request = urllib.request.Request(settings.PAYMENT_CALLBACK_URL, body, headers)
    with contextlib.suppress(OSError):
        urllib.request.urlopen(request, timeout=CALLBACK_SECONDS).close()
