"""Every address of the site, requested by every kind of visitor with every method.

No request may cause a server error, show another user's data, or accept an unexpected method. Addresses come from the
URL resolver and visitors from the table of roles. Each test is one transaction, so SQL answers all pages. A new address
only needs samples for its arguments (``tests.support.matrix.world``).
"""

import logging
from collections import defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple

import pytest
from django.contrib.auth.models import Group

from accounts.models import User
from config.roles import ROLES
from tests.site.rights import Rights
from tests.support.matrix.addresses import Address, NoSample, find_addresses
from tests.support.matrix.browser import HTML, JSON, Browser, is_complete, text_of
from tests.support.matrix.world import MatrixWorld, Secret

pytestmark = pytest.mark.django_db

REFUSED: Final = ("PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
UNSAFE: Final = ("POST", "PUT", "PATCH", "DELETE")
# Exempt from CSRF checks: two forms set a cookie for the appearance, the provider signs the callback, and the site the
# link that unsubscribes.
WITHOUT_TOKEN: Final = {"set_theme", "set_language", "shop:callback", "notifications:unsubscribe"}
# Actions that the admin never offers: counters are reset by an action, and the book of the world is one that the shop
# sells, so it is withdrawn from sale. A decision about a case suspends a user. Pages of mirrors have jobs only.
# No invoice is changed.
NEVER: Final = {
    ("accounts.failedlogins", "delete"), ("catalog.book", "delete"), ("accounts.suspension", "add"),
    ("social.post", "delete"), ("mirror.change", "change"), ("mirror.state", "change"),
    ("invoices.invoice", "change"),
}  # fmt: skip
# Pages with the permissions of another model.
SAME_AS: Final = {
    "catalog.tagalias": "catalog.tag",
    "wishes.bookwish": "catalog.book",
    **dict.fromkeys(("shop.return", "invoices.invoice"), "shop.order"),
    **dict.fromkeys(("shop.deliveryzone", "shop.deliverymethod"), "shop.sale"),
}
VERBS: Final = {"changelist": "view", "change": "view", "history": "view", "add": "add", "delete": "delete"}


class Person(NamedTuple):
    """A browser and the role of its user ("": no role). staff: its user, if on the staff without being a superuser."""

    name: str
    browser: Browser
    role: str = ""
    staff: User | None = None

    def may_know(self, secret: Secret) -> bool:
        """Return whether this person may read the secret."""
        return self.name in ("owner", "superuser") or secret.model in ROLES.get(self.role, {})


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Suppress the log of thousands of refusals, which takes as long as answering them."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def world() -> MatrixWorld:
    return MatrixWorld()


@pytest.mark.slow(105)
def test_no_page_shows_secrets_of_other_users(world: MatrixWorld) -> None:
    pages = [address for address in find_addresses(world) if not address.is_of_admin]
    people = [Person("owner", world.browser), *_people(world)]
    wrong = Wrong(world)
    for person in people:
        has_many_ways = person.name in ("owner", "stranger", "member")
        for page in pages:
            wrong.ask(person, page, "GET", HTML)
            wrong.ask(person, page, "POST", JSON)
            if has_many_ways:
                wrong.ask(person, page, "GET", JSON)
                wrong.ask(person, page, "HEAD", HTML)
                wrong.ask(person, page, "POST", HTML)
    assert wrong.text() == ""
    shown = {secret.text for secret in world.secrets()} - wrong.unseen
    # The owner reads these secrets, so the search for secrets works.
    wanted = {"xqmail@", "xqdevice", "xqname", "xqreason", "xqwanted@", "2333313", "xq muted", "xq blocked"}
    assert wanted | {"xqcopy", "xqfacts", "xqappeal", "xqdetails"} <= shown


@pytest.mark.slow(110)
def test_admin_follows_the_table_of_roles(world: MatrixWorld) -> None:
    pages = [address for address in find_addresses(world) if address.is_of_admin]
    people = list(_people(world))
    wrong = Wrong(world)
    for person in people:
        for page in pages:
            for method, accept in (("GET", HTML), ("POST", JSON)):
                status = wrong.ask(person, page, method, accept)
                if page.model is not None and not _is_right(person, page, method, status):
                    wrong.found.append(f"{person.name}: {method} {page.path} {status}")
    assert wrong.text() == ""
    # Superusers read these secrets.
    assert {"xqmail@", "xqaudit", "xqfailed", "xqdevice", "xqpayment", "xqhidden"}.isdisjoint(wrong.unseen)


@pytest.mark.slow(20)
def test_pages_refuse_other_methods_and_forms_without_csrf_token(world: MatrixWorld) -> None:
    wrong = Wrong(world)
    stranger, staff = (Person("superuser", browser) for browser in (Browser(), Browser(world.staff)))
    forged = Person("superuser", Browser(world.staff, checks_csrf=True))
    for page in find_addresses(world):
        for method in REFUSED:
            for person, accept in ((stranger, HTML), (staff, JSON)):
                wrong.ask(person, page, method, accept, {405})
        for method in UNSAFE:
            wrong.ask(forged, page, method, JSON, None if page.name in WITHOUT_TOKEN else {403})
    assert wrong.text() == ""


def test_argument_without_a_sample_is_reported(world: MatrixWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = world.samples()
    del samples["shop pk"]
    monkeypatch.setattr(world, "samples", lambda: samples)
    with pytest.raises(NoSample, match="shop:order: pk"):
        list(find_addresses(world))


class Answer(NamedTuple):
    """A response. faults: what is wrong about it. rights: what its request asked about the user's permissions."""

    status: int
    text: str
    faults: tuple[str, ...]
    rights: Rights = Rights()


class Wrong:
    """Collect faults in responses. unseen: secrets that no response has shown yet.

    A member of staff gets the answer of an earlier one if the site treats both alike (``Rights.hold_for``).
    """

    def __init__(self, world: MatrixWorld) -> None:
        self.secrets = world.secrets()
        self.unseen = {secret.text for secret in self.secrets}
        self.found: list[str] = []
        self._answers: dict[tuple[str, ...], list[Answer]] = defaultdict(list)

    def ask(self, person: Person, page: Address, method: str, accept: str, expected: set[int] | None = None) -> int:
        """Request a page, check the response and return its status."""
        answer = self._find_answer(person, page, method, accept)
        asked = f"{person.name}: {method} {page.path} ({accept}) {answer.status}"
        if expected is not None and answer.status not in expected:
            self.found.append(f"{asked} {person.browser.error}")
        self.found += [f"{asked}: {fault}" for fault in answer.faults]
        self._look(person, page, asked, answer.text)
        return answer.status

    def _find_answer(self, person: Person, page: Address, method: str, accept: str) -> Answer:
        if person.staff is None:
            return _request(person.browser, page, method, accept)
        answers = self._answers[method, page.path, accept]
        for answer in answers:
            if answer.rights.hold_for(person.staff):
                return answer
        rights = Rights()
        with rights.recorded():
            answer = _request(person.browser, page, method, accept)
        answers.append(answer._replace(rights=rights))
        return answer

    def _look(self, person: Person, page: Address, asked: str, text: str) -> None:
        for secret in self.secrets:
            if secret.text not in text or secret.text in page.path:
                continue
            self.unseen.discard(secret.text)
            if not person.may_know(secret) and not page.path.startswith(secret.public or ("nowhere",)):
                self.found.append(f"{asked}: tells {secret.text}")

    def text(self) -> str:
        """Return all faults as text."""
        return "\n".join(self.found)


def _request(browser: Browser, page: Address, method: str, accept: str) -> Answer:
    response = browser.ask(method, page.path, accept)
    faults = [browser.error] if response.status_code >= 500 else []
    if response.status_code >= 400 and method != "HEAD" and not is_complete(page.path, response):
        faults.append("neither a page nor JSON")
    if response.status_code == 405 and method in response.headers["Allow"].split(", "):
        faults.append("refused and allowed")
    return Answer(response.status_code, text_of(response), tuple(faults))


def _people(world: MatrixWorld) -> Iterator[Person]:
    """Yield every kind of visitor except the owner."""
    yield Person("stranger", Browser())
    yield Person("member", Browser(world.other))
    yield Person("superuser", Browser(world.staff))
    for role in ("", *ROLES):
        user = User.objects.create_user(f"a {role or 'staff'}", is_staff=True)
        user.groups.set(Group.objects.filter(name=role))
        yield Person(role or "staff", Browser(user), role, user)


def _is_right(person: Person, page: Address, method: str, status: int) -> bool:
    """Return whether the status of an admin page agrees with the table of roles."""
    assert page.model is not None
    if person.name in ("stranger", "member"):
        return status == 302
    own = page.model._meta.label_lower
    label = SAME_AS.get(own, own)
    allowed = ROLES.get(person.role, {}).get(label, "").split()
    verb = "change" if page.page == "change" and method == "POST" else VERBS.get(page.page)
    if person.name == "superuser":
        return status < 500
    if verb is None:  # an additional page of Django or of the library
        return status < 500 and (status != 200 or bool(allowed))
    is_allowed = verb in allowed and NEVER.isdisjoint({(own, verb), (label, verb)})
    if method == "POST" and page.page == "history":
        return status in (200, 403, 405)
    return status < 400 if is_allowed else status == 403
