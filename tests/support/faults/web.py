"""The site as a separate process, a visitor, and the cost of each response."""

from collections.abc import Mapping
from http.client import HTTPException
from http.cookiejar import CookieJar
from typing import Any, NamedTuple
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, build_opener, urlopen

import orjson

from tests.projects.mirrortest.models import Item
from tests.support.faults.crew import Crew
from tests.support.servers import PATIENCE_SECONDS, free_port, wait_until

WEB = (
    "granian --interface rsgi --no-ws --http 1 --workers {workers} --respawn-failed-workers --log-level warning"
    " --port {port} config.rsgi:application"
)
BOUND_SECONDS = 1.0  # promised time of a page while Redis or the broker hangs


def start_site(crew: Crew, workers: int = 1, /, **environment: str) -> int:
    """Start the site as the Procfile does, with so many processes. Return its port when it answers."""
    port = free_port()
    own = {"PAYMENT_CALLBACK_URL": f"http://127.0.0.1:{port}/shop/payments/callback/"}
    crew.start("web", WEB.format(workers=workers, port=port), **own, **environment)
    wait_until(lambda: _is_up(port), "the start of the web server")
    return port


def _is_up(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/healthz", timeout=PATIENCE_SECONDS):
            return True
    except (OSError, HTTPException):
        return False


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
        self.costs = crew.folder / "costs"
        self.costs.touch()
        self.address = f"http://127.0.0.1:{start_site(crew, COSTS_FILE=str(self.costs))}"
        self.new_visitor()

    def new_visitor(self) -> None:
        """Continue as another visitor, without cookies."""
        self.visitor = build_opener(HTTPCookieProcessor(CookieJar()))

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
