"""Callbacks of the fake provider: a JSON object, signed with an HMAC (SHA-256) in a header."""

from typing import Any, Final

import orjson
from django.conf import settings
from django.utils.crypto import constant_time_compare, salted_hmac

from shop.payments import Answer, BadSignature, Outcome

HEADER: Final = "Payment-Signature"


def sign_callback(body: bytes) -> str:
    """Return the signature of a callback's body."""
    key = settings.PAYMENT_CALLBACK_SECRET
    return salted_hmac("shop.payments.callback", body, secret=key, algorithm="sha256").hexdigest()


def encode_callback(key: str, answer: Answer) -> bytes:
    """Encode the body of a callback."""
    return orjson.dumps({"key": key, **answer._asdict(), "outcome": answer.outcome.value})


def decode_callback(body: bytes, signature: str) -> tuple[str, Answer]:
    """Decode a callback into the key and the answer. Raises BadSignature, also for signed bodies that are no
    callback.
    """
    if not constant_time_compare(sign_callback(body), signature):
        raise BadSignature
    try:
        message: Any = orjson.loads(body)
        return str(message["key"]), Answer(
            Outcome(message["outcome"]), str(message["reference"]), str(message["reason"])
        )
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise BadSignature from error
