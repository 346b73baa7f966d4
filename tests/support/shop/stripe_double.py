"""A double of the few addresses of Stripe's API that the shop calls, for Stripe's own library to talk to.

It keeps Stripe's promises about idempotency keys: a repeated request gets the first answer, and another request with
the same key is refused.
"""

import itertools
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import stripe

Row = dict[str, Any]
SECRET: Final = "whsec_of_tests"
MINIMUM: Final = 50  # cents, below which Stripe refuses a payment


class Refused(Exception):
    """An error answer of Stripe: its type, and its code."""


@dataclass
class StripeDouble:
    """Stripe's side.

    sessions, refunds: by id. is_silent: answers do not arrive. is_lost: requests do not arrive.
    """

    address: str = ""
    sessions: dict[str, Row] = field(default_factory=dict)
    refunds: dict[str, Row] = field(default_factory=dict)
    answers: dict[str, tuple[Row, Row]] = field(default_factory=dict)  # of each idempotency key, with its request
    is_silent: bool = False
    is_lost: bool = False
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, method: str, path: str, params: Row, key: str) -> Row:
        """Answer a request."""
        if method == "GET":
            return self._read(path, params)
        if key in self.answers and not path.endswith("/expire"):
            given, answer = self.answers[key]
            if given != params:
                raise Refused("idempotency_error", "")
            return answer
        answer = self._write(path, params)
        self.answers[key] = params, dict(answer)
        return answer

    def _read(self, path: str, params: Row) -> Row:
        if match := re.fullmatch(r"/v1/checkout/sessions/(\w+)", path):
            return self.sessions[match[1]]
        if path == "/v1/checkout/sessions":
            since, until = int(params["created[gte]"]), int(params["created[lte]"])
            found = [row for row in self.sessions.values() if since <= row["created"] <= until]
        else:
            found = [row for row in self.refunds.values() if row["payment_intent"] == params["payment_intent"]]
        found.reverse()
        ids = [row["id"] for row in found]
        start = ids.index(params["starting_after"]) + 1 if "starting_after" in params else 0
        page = found[start : start + 2]  # small pages, so that callers must read several
        return {"object": "list", "url": path, "data": page, "has_more": start + 2 < len(found)}

    def _write(self, path: str, params: Row) -> Row:
        if match := re.fullmatch(r"/v1/checkout/sessions/(\w+)/expire", path):
            row = self.sessions[match[1]]
            if row["status"] != "open":
                raise Refused("invalid_request_error", "")
            row |= {"status": "expired", "url": None}
            return row
        if path == "/v1/refunds":
            return self._refund(params)
        if "payment_method_types[0]" in params:  # of former versions of the API
            raise Refused("invalid_request_error", "parameter_unknown")
        amount = int(params.get("line_items[0][price_data][unit_amount]", MINIMUM))
        if amount < MINIMUM:
            raise Refused("invalid_request_error", "amount_too_small")
        pk = f"cs_test_{next(self.numbers)}"
        row = {
            "id": pk, "object": "checkout.session", "mode": params["mode"], "status": "open",
            "payment_status": "unpaid", "created": int(time.time()),
            "client_reference_id": params["client_reference_id"], "amount_total": amount, "payment_intent": None,
            "url": f"{self.address}/pay/{pk}", "success_url": params["success_url"],
        }  # fmt: skip
        self.sessions[pk] = row
        return row

    def _refund(self, params: Row) -> Row:
        intent, amount = params["payment_intent"], int(params["amount"])
        total = next(row["amount_total"] for row in self.sessions.values() if row["payment_intent"] == intent)
        if amount > total - sum(row["amount"] for row in self.refunds.values() if row["payment_intent"] == intent):
            raise Refused("invalid_request_error", "charge_already_refunded")
        row = {"id": f"re_{next(self.numbers)}", "object": "refund", "amount": amount, "payment_intent": intent}
        self.refunds[row["id"]] = row | {"metadata": {"refund": params["metadata[refund]"]}}
        return self.refunds[row["id"]]

    def find(self, key: str) -> Row:
        """Return the session of a payment."""
        return next(row for row in self.sessions.values() if row["client_reference_id"] == key)

    def pay(self, key: str) -> bool:
        """Pay on the page. Return False if it is closed."""
        row = self.find(key)
        if row["status"] != "open" or row["mode"] != "payment":
            return False
        row |= {"status": "complete", "payment_status": "paid", "payment_intent": f"pi_{row['id']}", "url": None}
        return True

    @property
    def held(self) -> dict[str, int]:
        """The cents taken and not refunded, by the key of the payment."""
        taken = {row["payment_intent"]: row for row in self.sessions.values() if row["payment_intent"]}
        left = {intent: row["amount_total"] for intent, row in taken.items()}
        for row in self.refunds.values():
            left[row["payment_intent"]] -= row["amount"]
        return {taken[intent]["client_reference_id"]: cents for intent, cents in left.items() if cents}


def sign(row: Row, kind: str = "checkout.session.completed", *, age: int = 0, secret: str = SECRET) -> tuple[str, str]:
    """Return the body of an event about a session as it is now, and its signature."""
    event = {"id": "evt_1", "object": "event", "type": kind, "data": {"object": row}}
    body = json.dumps(event)
    header = stripe.WebhookSignature.generate_signature_header(body, secret, int(time.time()) - age)
    return body, header


def _make_handler(double: StripeDouble) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            if double.is_lost:
                return
            if parts.path.startswith("/pay/"):
                self._show_page(parts.path)
                return
            params = dict(parse_qsl(f"{parts.query}&{body}"))
            try:
                with double.lock:
                    row, status = double.answer(self.command, parts.path, params, self.headers["Idempotency-Key"]), 200
            except Refused as error:
                row, status = {"error": dict(zip(("type", "code"), error.args, strict=True))}, 400
            if double.is_silent:
                return
            text = json.dumps(row).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def _show_page(self, path: str) -> None:
            """Show the page with a button, and send the buyer back after it was pressed."""
            row = double.sessions[path.removeprefix("/pay/")]
            is_paid = self.command == "POST" and double.pay(row["client_reference_id"])
            text = b"<!doctype html><form method=post><button>Pay at Stripe</button></form>"
            self.send_response(303 if is_paid else 200)
            self.send_header("Location", row["success_url"]) if is_paid else None
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = _answer  # noqa: N815

        def log_message(self, *args: Any) -> None:
            pass

    return Handler


@contextmanager
def run_double() -> Iterator[StripeDouble]:
    """Run the double on a free port."""
    double = StripeDouble()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _make_handler(double))
    double.address = f"http://127.0.0.1:{server.server_port}"
    serve: Callable[[], None] = lambda: server.serve_forever(poll_interval=0.01)  # noqa: E731
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield double
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
