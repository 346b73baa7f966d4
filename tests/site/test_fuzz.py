"""No request provokes a server error, and each refusal is a complete page or JSON.

``DIPTYCH_FUZZ_EXAMPLES=20000`` sends that many requests, and includes the pages of the admin.
"""

import logging
import os
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import unquote

import pytest
from django.urls import Resolver404, resolve
from hypothesis import HealthCheck, Phase, given, settings
from redis import Redis

from tests.site.fuzz import Form, find_forms, requests, send
from tests.support.matrix.addresses import Address, find_addresses
from tests.support.matrix.browser import Browser, is_complete, text_of
from tests.support.matrix.world import MatrixWorld

pytestmark = pytest.mark.django_db
ASKED: Final = int(os.environ.get("DIPTYCH_FUZZ_EXAMPLES", "0"))
EXAMPLES: Final = ASKED or 600

BROKEN: Final = (
    "0", "-1", "9" * 19, str(2**63 - 1), str(2**63), "9" * 5000, "\u0663", "\0", "\u202ex", "..", "a" * 3000,
)  # fmt: skip


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def break_arguments(*samples: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield the arguments of an address with each broken value: in all places, and in each place beside samples."""
    valid = [values[0] for values in samples]
    for value in BROKEN if samples else ():
        yield (value,) * len(samples)
        for place in range(len(samples) if len(samples) > 1 else 0):
            yield (*valid[:place], value, *valid[place + 1 :])


def is_known(page: Address) -> bool:
    """Return whether a view gets the arguments. Otherwise no address fits them, and the site has no such page."""
    try:
        resolve(unquote(page.path))
    except Resolver404:
        return False
    return True


def describe(page: Address) -> tuple[str, ...]:
    """Return the application and the broken values of an address: one unknown address stands for all of these."""
    app, values = page.name.partition(":")[0], {*unquote(page.path).split("/")} & {*BROKEN}
    return (app, *sorted(values or [page.path]))


@pytest.mark.slow(20)
def test_no_argument_of_an_address_causes_a_server_error() -> None:
    world, refused = MatrixWorld(), set[tuple[str, ...]]()
    for page in find_addresses(world, break_arguments):
        if page.model is not None:
            continue
        if not is_known(page):
            if describe(page) in refused:
                continue
            refused.add(describe(page))
        for method in ("GET", "POST"):
            response = world.browser.ask(method, page.path)
            assert response.status_code < 500, (page.path, world.browser.error)
            assert response.status_code < 400 or is_complete(page.path, response), page.path


@pytest.mark.slow(45)
def test_no_request_causes_a_server_error(redis: Redis) -> None:
    world = MatrixWorld()
    people = {"owner": world.browser, "stranger": Browser()}
    pages = list(find_addresses(world))
    forms, cookies = find_forms(people, [page for page in pages if not page.is_of_admin])
    if ASKED:
        people["superuser"] = Browser(world.staff)
        forms += find_forms({"superuser": people["superuser"]}, [page for page in pages if page.is_of_admin])[0]
    # Check that the test has found the fields and cookies of the site.
    assert {"q", "after", "username", "text", "quantity", "version"} <= {name for form in forms for name in form.fields}
    assert {"sessionid", "theme", "mirror_behind"} <= set(cookies)

    wrong: dict[str, str] = {}  # by kind of error, so that each fault is reported once

    @settings(
        max_examples=EXAMPLES,
        derandomize=not ASKED,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(requests(forms, cookies))
    def fuzz(request: tuple[Form, dict[str, Any]]) -> None:
        form, more = request
        redis.delete(*redis.keys("*limit*"), "none")  # otherwise rate limits would refuse most requests
        browser = people[form.person]
        response = send(browser, form, more)
        is_part = "hx-request" in more["headers"]  # a request of htmx for a part of the page
        if response.status_code >= 500:
            wrong.setdefault(browser.error[-200:], f"{request!r}\n{browser.error}")
        elif response.status_code >= 400 and not is_part and not is_complete(form.path, response):
            wrong.setdefault(form.path, f"{request!r}\n{text_of(response)}")

    fuzz()
    if wrong:
        pytest.fail("\n\n".join(wrong.values()), pytrace=False)
