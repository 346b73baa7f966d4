"""The services of `deploy/` as real processes: Redis with TLS and ACL, a proxy, rolling restarts and graceful stops.

The commands and files are those of `deploy/`, so a change there is tested here. There is one test, because its
processes take most of its time.
"""

import base64
import os
import re
import threading
from collections.abc import Iterator
from typing import Final

import orjson
import psycopg
import pytest
from celery import Celery
from django.test import override_settings

from accounts.mail.outgoing import Letter, sign_letter
from tests.deploy.installation import REDIS, TASKS, WEB, Installation, install
from tests.support.deploy import files
from tests.support.servers import wait_until

# The suite on PostgreSQL uses the system's Redis, and that of the wheel has no TLS.
pytestmark = [pytest.mark.only_on("postgres"), pytest.mark.real]
LETTERS: Final = 40
PAUSE_SECONDS: Final = 0.2
NEW: Final = "a-new-password-of-tests"
ROLE: Final = "diptych_2"


@pytest.fixture
def site() -> Iterator[Installation]:
    """Return an installation with an empty database of its own."""
    server, name = os.environ["DATABASE_URL"].rpartition("/")[0], "deployment"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as sql:
        sql.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        sql.execute(f"CREATE DATABASE {name} TEMPLATE template0")
    with install(f"{server}/{name}") as made:
        yield made
    with psycopg.connect(f"{server}/postgres", autocommit=True) as sql:
        sql.execute(f"DROP DATABASE {name} WITH (FORCE)")
        sql.execute(f"DROP ROLE IF EXISTS {ROLE}")


def prepare(site: Installation) -> None:
    """Run the commands of the Dockerfile that need no container, the check, and the migration."""
    site.start(*REDIS)
    ours = [line for line in files.read_dockerfile("RUN") if "python -m tools" in line or "manage.py" in line]
    assert len(ours) == 2
    for line in ours:
        site.run(line)
    provider = "from shop.payments.fake import FakeProvider\n\n\nclass Provider(FakeProvider):\n    pass\n"
    (site.work / "real.py").write_text(provider)
    given = f"PYTHONPATH={site.work} PAYMENT_PROVIDER=real.Provider EMAIL_URL=smtp+tls://name:secret@mail.example:587"
    given += " SELLER_NAME=Shop SELLER_ADDRESS=Quay SELLER_EMAIL=shop@books.example SELLER_COUNTRY=DE"
    site.run(f"{given} python manage.py check --deploy --fail-level WARNING")
    site.run(site.services["migrate"]["command"])
    site.run("python manage.py loaddata seed_examples")


def use_every_part(site: Installation) -> None:
    """Use pages and commands as a reader, a stranger and the operator."""
    alice, password = site.visitor(), "a quiet bookshop"
    form = {"username": "alice", "email": "alice@example.org", "password1": password, "password2": password}
    alice.submit("/accounts/register/", form)
    assert "alice" in alice.fetch("/home/")
    assert "Reading again" in alice.submit("/home/", {"text": "Reading again #books"}, "/posts/")
    for path in (
        "/",
        "/books/?q=ruby",
        "/books/1/",
        "/search/?q=erlang",
        "/global/",
        "/shop/cart/",
        "/accounts/sessions/",
    ):
        alice.fetch(path)
        assert site.visitor().status(path) == 200
    site.run("python manage.py site backup var/backup")


def rotate_passwords(site: Installation) -> str:
    """Follow docs/operations.md as far as the restart. Return the command that removes Redis' former password."""
    add, remove = files.read_rotation("passwords of Redis")
    with site.admin("state") as redis:
        redis.execute_command(*add.replace("NEW", NEW).split())
    url = site.environment["REDIS_URL"]
    site.environment["REDIS_URL"] = url.replace(f"site:{files.PASSWORD}", f"site:{NEW}")
    with psycopg.connect(site.environment["DATABASE_URL"], autocommit=True) as sql:
        for statement in files.read_rotation("password of PostgreSQL")[:2]:
            sql.execute(statement.replace("NEW", NEW).encode())
    site.environment["DATABASE_URL"] = re.sub("//.*@", f"//{ROLE}:{NEW}@", site.environment["DATABASE_URL"])
    return remove.replace("OLD", files.PASSWORD)


def restart_under_load(site: Installation) -> None:
    """Stop and start each web server in turn while visitors read and send forms. No request may fail."""
    done, failures, stopped = list[str](), list[str](), threading.Event()

    def visit() -> None:
        visitor = site.visitor()
        while not stopped.is_set():
            for path, form in (("/books/", None), ("/look/theme/", {"theme": "dark"})):
                try:
                    visitor.fetch(path, form)
                except OSError as error:
                    failures.append(f"{path}: {error!r}")
                done.append(path)
            stopped.wait(PAUSE_SECONDS)  # the proxy refuses floods of one address

    visitors = [threading.Thread(target=visit) for _ in range(2)]
    for each in visitors:
        each.start()
    try:
        for name in WEB:
            wanted = len(done) + 20
            wait_until(lambda wanted=wanted: len(done) > wanted, "some requests")  # type: ignore[misc]
            assert site.stop(name) == 0
            site.start(name)
    finally:
        stopped.set()
        for each in visitors:
            each.join()
    assert failures == []


def stop_workers(site: Installation) -> None:
    """Stop workers that are sending emails. Each email was sent once, or still waits in the queue."""
    with psycopg.connect(site.environment["DATABASE_URL"]) as sql:
        ((alice,),) = sql.execute("SELECT id FROM accounts_user WHERE username = 'alice'").fetchall()
    # Celery prefers the variable of this process, which names the broker of the tests.
    app = Celery(set_as_current=False)  # the tests that follow send their tasks with the site's own application
    broker = app.connection(site.environment["CELERY_BROKER_URL"])
    with override_settings(SECRET_KEY=site.environment["SECRET_KEY"]):
        letters = [Letter("password_changed", "en", f"reader{number}@example.org", {}) for number in range(LETTERS)]
        messages = [(alice, sign_letter(alice, letter)) for letter in letters]
    for message in messages:
        app.send_task("accounts.tasks.send_letter", message, queue="default", connection=broker)
    broker.release()
    wait_until(lambda: "To: reader" in site.read_log("worker"), "an email")
    assert {name: site.stop(name) for name in TASKS} == dict.fromkeys(TASKS, 0)
    with site.redis("broker") as redis:
        assert redis.hlen("unacked") == 0
        bodies = [base64.b64decode(orjson.loads(message)["body"]) for message in redis.lrange("default", 0, -1)]
    waiting = [orjson.loads(body)[0] for body in bodies]
    left = [number for number, message in enumerate(messages) if list(message) in waiting]
    sent = [int(number) for number in re.findall(r"^To: reader(\d+)@", site.read_log("worker"), re.M)]
    assert sorted([*left, *sent]) == [*range(LETTERS)]


@pytest.mark.slow(150)
def test_site_runs_restarts_and_stops_as_deployed(site: Installation) -> None:
    prepare(site)
    site.start(*WEB, *TASKS, "proxy")
    wait_until(lambda: '"ok"' in site.visitor().fetch("/readyz"), "warm mirrors")
    for name in (*REDIS, *TASKS, "proxy"):
        wait_until(lambda name=name: site.is_healthy(name), f"the health of {name}")  # type: ignore[misc]
    use_every_part(site)
    remove = rotate_passwords(site)
    restart_under_load(site)
    for name in REDIS:
        limit = int(files.read_redis_option(name, "maxclients"))
        assert site.redis(name).info("clients")["connected_clients"] <= limit / 4
    stop_workers(site)
    with site.admin("state") as redis:
        redis.execute_command(*remove.split())
        redis.client_kill_filter(user="site")
    assert "<h1" in site.visitor().fetch("/books/1/")
    with site.redis("state") as redis:
        assert redis.ping()
    # Without these rights, checks leave out a hint about memory, and only explain the rights of "default".
    expected = {"site: config|get", "site: acl|getuser", "broker: acl|getuser"}
    assert {name: set(site.list_denied(name)) - expected for name in REDIS} == {name: set() for name in REDIS}
