"""Measure how long ended access continues during each fault, and the cost of doubt.

Usage: ``python -m tests.bench.stale [--on postgres]``. A web server, a worker and beat run as processes. During each
fault a session is ended, a user deactivated, a post hidden and its author blocked; four clients repeat their requests
until the change takes effect.
"""

import argparse
import http.client
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from tests.support.servers import PostgresServer, die_with_parent, free_port, temporary_folder, wait_until
from tests.support.servers.redis import RedisServer

FAULT_SECONDS, WATCHED_SECONDS, RATE_SECONDS = 6.0, 6.0, 4.0
USERS = 200_000
TEXT = "seen by mistake"
WEB = "granian --interface rsgi --no-ws --http 1 --workers 2 --log-level error config.rsgi:application --port {port}"
WORKER = (
    "celery --quiet -A config worker -Q relay,fanout,rebuild,default -c 2 --without-mingle --without-gossip -l error"
)
BEAT = "celery --quiet -A config beat -l error --pidfile= -s {folder}/schedule"


class Stack:
    """The processes of the site by name."""

    def __init__(self, redis: RedisServer, folder: Path) -> None:
        self.redis, self.port, self.folder = redis, free_port(), folder
        self.children: dict[str, subprocess.Popen[bytes]] = {}
        for name, command in (("web", WEB), ("worker", WORKER), ("beat", BEAT)):
            self.start(name, command)
        wait_until(lambda: self.get("/healthz") == 200, "the web server")

    def start(self, name: str, command: str) -> None:
        words = command.format(port=self.port, folder=self.folder).split()
        self.children[name] = subprocess.Popen(
            [sys.executable, "-m", *words], start_new_session=True, preexec_fn=die_with_parent()
        )

    def kill(self, *names: str) -> None:
        for name in names:
            os.killpg(self.children[name].pid, signal.SIGKILL)
            self.children.pop(name).wait()

    def get(self, path: str, cookie: str = "", text: str = "") -> int:
        """Return the status, or 0 without a response or if ``text`` is not on the page."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path, headers={"Cookie": f"sessionid={cookie}", "Host": "localhost"})
            response = connection.getresponse()
            return response.status if text in response.read().decode() else 0
        except OSError:
            return 0
        finally:
            connection.close()

    @contextmanager
    def frozen(self) -> Generator[None, None, None]:
        self.redis.freeze()
        yield
        self.redis.thaw()

    @contextmanager
    def out_of_memory(self) -> Generator[None, None, None]:
        with self.redis.client() as client:
            client.config_set("maxmemory", 1)
            yield
            client.config_set("maxmemory", 0)

    @contextmanager
    def unable_to_save(self) -> Generator[None, None, None]:
        with self.redis.client() as client:
            (self.redis.data / client.config_get("dbfilename")["dbfilename"]).mkdir(exist_ok=True)
            client.config_set("save", "3600 1")
            client.bgsave()
            yield
            client.config_set("save", "")

    @contextmanager
    def without_relay(self) -> Generator[None, None, None]:
        self.kill("worker", "beat")
        yield
        self.start("worker", WORKER)
        self.start("beat", BEAT)

    @contextmanager
    def bulk(self) -> Generator[None, None, None]:
        """Change 200,000 users; the fault ends when the changes are in Redis."""
        from accounts.models import User
        from mirror.models import Change

        User.objects.filter(username__startswith="many").update(user_type="VIP")
        yield
        wait_until(lambda: not Change.objects.pending().exists(), "the bulk update", 600)


Fault = Callable[[], AbstractContextManager[object]]
Watch = tuple[str, Callable[[], object], Callable[[], bool]]


def watches(stack: Stack, label: str) -> list[Watch]:
    """Return (name, function that ends the access, function that tells whether it continues) for each watch."""
    from django.test import Client

    from accounts.models import User
    from accounts.sessions.rows import hash_token
    from accounts.sessions.services import end_session
    from social.models import Block, Post

    def log_in(name: str) -> tuple[User, str]:
        client, user = Client(), User.objects.create_user(f"{name}{label}", password=None)
        client.force_login(user, "django.contrib.auth.backends.ModelBackend")
        return user, client.cookies["sessionid"].value

    ended, token = log_in("ended")
    gone, gone_token = log_in("gone")
    reader, reader_token = log_in("reader")
    author, other = log_in("author")[0], log_in("other")[0]
    hidden = Post.objects.create(user=other, text=f"{TEXT} hidden {label}")
    Post.objects.create(user=author, text=f"{TEXT} blocked {label}")

    def is_in(cookie: str) -> bool:
        return stack.get("/accounts/sessions/", cookie) == 200

    def is_shown(text: str) -> bool:
        return stack.get("/global/", reader_token, f"{TEXT} {text} {label}") == 200

    def deactivate() -> None:
        User.objects.filter(pk=gone.pk).update(is_active=False)

    return [
        ("session ended", lambda: end_session(ended, hash_token(token)), lambda: is_in(token)),
        ("deactivated", deactivate, lambda: is_in(gone_token)),
        ("post hidden", lambda: Post.objects.filter(pk=hidden.pk).update(is_hidden=True), lambda: is_shown("hidden")),
        ("blocked", lambda: Block.objects.create(blocker=author, blocked=reader), lambda: is_shown("blocked")),
    ]


def measure(stack: Stack, name: str, fault: Fault) -> list[str]:
    """Return a row for each watch with the time of the last stale response, after the change and after the fault."""
    found = watches(stack, name.replace(" ", ""))
    wait_until(lambda: all(is_allowed() for _, _, is_allowed in found), "everything to be seen")
    changed, last, asked, stale = [0.0] * 4, [0.0] * 4, [0] * 4, [0] * 4
    done = threading.Event()

    def watch(number: int) -> None:
        while not done.is_set():
            start = time.monotonic()
            is_allowed = found[number][2]()
            if changed[number] and start > changed[number]:
                asked[number] += 1
                if is_allowed:
                    stale[number] += 1
                    last[number] = time.monotonic()
            time.sleep(0.02)

    threads = [threading.Thread(target=watch, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    with fault():
        time.sleep(1)
        for number, (_, change, _) in enumerate(found):
            change()
            changed[number] = time.monotonic()
        time.sleep(FAULT_SECONDS - 1)
    end = time.monotonic()
    time.sleep(WATCHED_SECONDS)
    done.set()
    for thread in threads:
        thread.join()
    return [
        f"{name:10} {watched[0]:14} stale {stale[n]:4} of {asked[n]:4},"
        f" last {max(0, last[n] - changed[n]):6.2f} s after the change, {max(0, last[n] - end):5.2f} s after the fault"
        for n, watched in enumerate(found)
    ]


def rate(stack: Stack, token: str) -> float:
    """Return the requests per second for a page of a logged-in reader."""
    until, counts = time.monotonic() + RATE_SECONDS, list[int]()

    def ask() -> None:
        count = 0
        while time.monotonic() < until:
            count += stack.get("/global/", token) == 200
        counts.append(count)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / RATE_SECONDS


def rates(stack: Stack) -> list[str]:
    """Measure the rate with a heartbeat, without one, and without one while 200,000 changes are pending."""
    from django.test import Client

    from accounts.models import User

    client = Client()
    client.force_login(User.objects.create_user("rated"), "django.contrib.auth.backends.ModelBackend")
    token = client.cookies["sessionid"].value
    time.sleep(2)
    found = [("with a heartbeat", rate(stack, token))]
    stack.kill("worker", "beat")
    time.sleep(3)
    found.append(("in doubt", rate(stack, token)))
    User.objects.filter(username__startswith="many").update(user_type="Staff")
    found.append(("in doubt, 400,000 changes pending", rate(stack, token)))
    return [f"{name:34} {value:6.0f} pages/s" for name, value in found]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.stale", description=__doc__)
    parser.add_argument("--on", choices=["sqlite", "postgres"], default="sqlite")
    on, folder = parser.parse_args().on, temporary_folder()
    postgres = PostgresServer().start() if on == "postgres" else None
    os.environ["DATABASE_URL"] = postgres.url("postgres") if postgres else f"sqlite:///{folder / 'bench.sqlite3'}"
    os.environ |= {"DJANGO_SETTINGS_MODULE": "config.settings", "REDIS_PREFIX": "", "DEBUG": "true"}
    with RedisServer() as redis:
        os.environ.update(redis.environment())
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        from accounts.models import User
        from mirror.upkeep.rebuild import rebuild

        many = (User(username=f"many {n}", name_key=f"many {n}", password="!") for n in range(USERS))
        User.objects.bulk_create(many, batch_size=5000)
        from mirror.models import Change

        Change.objects.all()._raw_delete("default")
        rebuild()
        stack = Stack(redis, folder)
        try:
            faults: dict[str, Fault] = {
                "none": nullcontext,
                "frozen": stack.frozen,
                "OOM": stack.out_of_memory,
                "MISCONF": stack.unable_to_save,
                "no relay": stack.without_relay,
                "bulk": stack.bulk,
            }
            for name, fault in faults.items():
                print(*measure(stack, name, fault), sep="\n", flush=True)
            print(*rates(stack), sep="\n", flush=True)
        finally:
            stack.kill(*stack.children)
    if postgres:
        postgres.stop()


if __name__ == "__main__":
    main()
