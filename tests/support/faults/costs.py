"""A middleware that writes down the cost of each response."""

import os
from collections.abc import Callable

import orjson
from django.http import HttpRequest, HttpResponse

from mirror.redis.recorder import record


class WriteCosts:
    """Append ``[seconds of time-outs, round trips, SQL statements]`` to the file named by ``COSTS_FILE``."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with record() as seen:
            response = self.get_response(request)
        if "COSTS_FILE" in os.environ:
            with open(os.environ["COSTS_FILE"], "ab") as file:
                file.write(orjson.dumps([seen.timeout_seconds, seen.round_trips, len(seen.sql)]) + b"\n")
        return response
