"""The site as a separate process, a visitor, and the cost of each response."""

from collections.abc import Mapping
from http.client import HTTPException
from http.cookiejar import CookieJar
from typing import Any, NamedTuple
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, build_opener

import orjson

from tests.projects.mirrortest.models import Item
from tests.support.faults.crew import Crew
from tests.support.servers import PATIENCE_SECONDS, free_port, wait_until

WEB = "granian --interface rsgi --no-ws --http 1 --workers 1 --log-level warning config.rsgi:application"
BOUND_SECONDS = 1.0  # promised time of a page while Redis or the broker hangs


class Cost(NamedTuple):
    """The cost of one response, independent of the machine's load."""

    timeout_seconds: float = 0.0
    round_trips: int = 0
    statements: int = 0

    @property
    def seconds(self) -> float:
        """The time-outs, plus generous prices for the rest: 2 ms per round trip, 5 ms per statement."""
        return self.timeout_seconds + 0.002 * self.round_trips + 0.005 * self.statements


class Web:
    """The site as a separate process, with one visitor."""

    def __init__(self, crew: Crew) -> None:
        self.address, self.costs = f"http://127.0.0.1:{free_port()}", crew.folder / "costs"
        self.costs.touch()
        self.child = crew.start("web", f"{WEB} --port {self.address.rpartition(':')[2]}", COSTS_FILE=str(self.costs))
        self.new_visitor()
        wait_until(self.is_up, "the start of the web server")

    def new_visitor(self) -> None:
        """Continue as another visitor, without cookies."""
        self.visitor = build_opener(HTTPCookieProcessor(CookieJar()))

    def is_up(self) -> bool:
        try:
            return self.fetch("/healthz") is not None
        except (URLError, OSError, HTTPException):
            return False

    def fetch(self, path: str, form: Mapping[str, str] | None = None) -> str:
        """Return the page, however long it takes. Raise HTTPError for an error page."""
        data = urlencode(form).encode() if form else None
        with self.visitor.open(self.address + path, data, timeout=PATIENCE_SECONDS) as response:
            return str(response.read().decode())

    def ask(self, path: str, form: Mapping[str, str] | None = None) -> str:
        """Return the page after redirects. Raise TimeoutError if its cost exceeds the promised time."""
        before = self.costs.stat().st_size
        text = self.fetch(path, form)
        with self.costs.open("rb") as file:
            file.seek(before)
            costs = [Cost(*orjson.loads(line)) for line in file]
        assert costs, "the web process reports no costs"
        if sum(cost.seconds for cost in costs) > BOUND_SECONDS:
            raise TimeoutError(f"{path} cost {costs}")
        return text

    def item(self, pk: int, **form: str) -> dict[str, Any]:
        found: dict[str, Any] = orjson.loads(self.ask(f"/item/{pk}/", form))
        return found

    def comes_to_say(self, item: Item, name: str) -> None:
        """Wait until Redis answers with this name."""
        path, said = f"/item/{item.pk}/", {"name": name, "by": "redis"}
        wait_until(lambda: orjson.loads(self.fetch(path)) == said, "an answer by Redis")
