"""Returns of the demo's orders: some in each state, with refunds, made by the services of the shop."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Final, NamedTuple

from shop.models import EventKind, Order, OrderEvent, OrderState, Return, ReturnReason
from shop.returns.rules import is_returnable
from shop.returns.services import WantedReturn, accept_return, ask_for_return, receive_return, refuse_return
from shop.services.refunds import make_refund

ASKED_AFTER: Final = timedelta(days=2)  # the parcel was sent
DECIDED_AFTER: Final = timedelta(days=1)
DECISIONS: Final = (EventKind.RETURN_ACCEPTED, EventKind.RETURN_REFUSED)
REFUSAL: Final = "The cover is torn and several pages have notes in ink."


class Story(NamedTuple):
    """What becomes of a return. steps: taken after it was asked for."""

    reason: ReturnReason
    note: str
    steps: tuple[Callable[[int], Return], ...]


_receive: Final = partial(receive_return, restock=True)
STORIES: Final = (
    Story(ReturnReason.UNWANTED, "", ()),
    Story(ReturnReason.DAMAGED, "The spine is broken. I would like a new copy if you have one.", ()),
    Story(ReturnReason.LATE, "It was a birthday present.", (accept_return,)),
    Story(ReturnReason.NONE, "", (accept_return,)),
    Story(ReturnReason.WRONG, "I ordered the first volume, and this is the second.", (accept_return, _receive)),
    Story(ReturnReason.DAMAGED, "", (accept_return, partial(receive_return, restock=False))),
    Story(ReturnReason.UNWANTED, "I have it twice now.", (accept_return, _receive)),
    Story(ReturnReason.UNWANTED, "", (partial(refuse_return, answer=REFUSAL),)),
    Story(ReturnReason.NONE, "", (accept_return, partial(refuse_return, answer=REFUSAL))),
)


def add_returns(now: datetime) -> int:
    """Add returns of orders that arrived in the last days, and return their number."""
    arrived = Order.objects.filter(state=OrderState.SENT, sent_at__lte=now - ASKED_AFTER - DECIDED_AFTER)
    orders = filter(is_returnable, arrived.order_by("-sent_at", "-pk"))
    pairs = list(zip(STORIES, orders, strict=False))
    for story, order in pairs:
        _add_return(order, story)
    return len(pairs)


def _add_return(order: Order, story: Story) -> None:
    line = order.lines.order_by("pk")[0]
    made = ask_for_return(order.pk, {line.pk: WantedReturn(1, story.reason)}, story.note, by=order.user)
    for step in story.steps:
        made = step(made.pk)
    if made.refund is not None:
        make_refund(made.refund)
    # The services have written the present moment.
    assert order.sent_at is not None
    asked = order.sent_at + ASKED_AFTER
    decided = asked + DECIDED_AFTER
    returns, events = Return.objects.filter(pk=made.pk), OrderEvent.objects.filter(order=order)
    returns.update(created_at=asked)
    events.filter(kind=EventKind.RETURN_ASKED).update(created_at=asked)
    if story.steps:
        returns.update(decided_at=decided)
        events.filter(kind__in=DECISIONS).update(created_at=decided)
