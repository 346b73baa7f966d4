"""A large import does not delay users (fault 6): their posts arrive while earlier imported changes are still pending.

  IMPORT_LINES=60000 python -m pytest -s tests/faults/test_social_import.py

prints how long each post took to reach all followers of its author.
"""

import os
import random
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from django.db.models import Max
from redis import Redis

from accounts.models import User
from mirror import registry
from mirror.models import Change
from mirror.redis.clients import relay_client
from mirror.verify import runs
from mirror.windows import window
from social import keys
from social.models import Follow, Post
from tests.faults.test_social_away import be, draft
from tests.support.faults.crew import BEAT, Crew
from tests.support.faults.web import Web
from tests.support.mirror import world
from tests.support.servers import wait_until

pytestmark = pytest.mark.slow

LINES = int(os.environ.get("IMPORT_LINES", "4000"))
STUDENTS, FOLLOWERS, POSTS = 400, 200, 6
WAITING = 500  # minimum number of pending changes of the import ahead of a user's post
WORKER = "celery -A config worker -c 2 --without-mingle --without-gossip -l warning"


@pytest.fixture
def messages(tmp_path: Path) -> Path:
    """Write lines of SRC DST UNIXTS, the format of CollegeMsg. Return the file."""
    chance, path = random.Random(5), tmp_path / "messages.txt"
    pairs = (chance.sample(range(1, STUDENTS + 1), 2) for _ in range(LINES))
    path.write_text("".join(f"{a} {b} {1_082_040_961 + n}\n" for n, (a, b) in enumerate(pairs)))
    return path


@pytest.fixture
def bob(transactional_db: None, crew: Crew, small_steps: dict[str, object]) -> Iterator[User]:
    """Create bob with many followers and warm timelines. Start a worker for every queue but the relay's."""
    small_steps.clear()
    crew.environment["MIRROR_SETTINGS"] = "{}"
    # A lost hint waits for a sweep, and no worker sweeps during the first half of the posts.
    crew.environment["PATIENT"] = "yes"
    bob, *others = User.objects.bulk_create(User(username=f"reader {n}") for n in range(FOLLOWERS + 1))
    Follow.objects.bulk_create(Follow(follower=one, followee=bob) for one in others)
    world.warm()
    for one in others:
        assert window.warm(registry.get("timeline"), str(one.pk))  # type: ignore[arg-type]
    for queue in ("fanout", "default"):
        work(crew, queue)
    crew.start("beat", f"{BEAT} -s {crew.folder / 'schedule'}")
    yield bob
    crew.kill_all()


def work(crew: Crew, queue: str) -> None:
    """Start a worker for this queue only."""
    crew.start(queue, f"{WORKER} -Q {queue} -n {queue}@%h")


def everybody_has(state: Redis, author: User, post: int) -> bool:
    """Return whether the post is in the timelines of all followers of its author."""
    pipe = state.pipeline()
    for pk in Follow.objects.filter(followee=author).values_list("follower_id", flat=True):
        pipe.zscore(keys.timeline(pk), str(post))
    return None not in pipe.execute()


def in_front(change: int) -> int:
    """Return the number of older changes that are still pending."""
    return Change.objects.pending().filter(id__lt=change).count()


def test_fault_6_post_arrives_before_earlier_imported_changes(
    bob: User, crew: Crew, state: Redis, messages: Path
) -> None:
    """No worker drains the import during the first half of the posts; one does during the second half."""
    web = Web(crew)
    be(web, bob)
    importing = crew.start("import", f"django import_collegemsg {messages}")
    took: list[tuple[float, float, int]] = []
    for n in range(POSTS):
        if n == POSTS // 2:
            work(crew, "relay")
        form = draft(web.fetch("/home/"), f"Bob says {n}")
        wait_until(lambda: in_front(2**62) > WAITING or importing.poll() is not None, "much that waits")
        if in_front(2**62) <= WAITING:  # the relay has caught up with the import
            break
        before = Change.objects.aggregate(last=Max("id"))["last"]
        start = time.monotonic()
        web.fetch("/posts/", form)
        answered = time.monotonic() - start
        post = Post.objects.get(text=f"Bob says {n}").pk
        wait_until(partial(everybody_has, state, bob, post), "the delivery")
        took.append((answered, time.monotonic() - start, in_front(before)))
    print(*(f"answered {a:.3f} s, everywhere {b:.3f} s, {waiting} in front" for a, b, waiting in took), sep="\n")
    assert len(took) >= POSTS // 2, "the import was too small to be in anybody's way"
    assert all(waiting for *_, waiting in took[: POSTS // 2]), "they came after all that was in front of them"
    assert importing.wait(600) == 0, crew.said("import")
    wait_until(lambda: not Change.objects.pending().exists(), "coming to rest", 600)
    assert Post.objects.count() == LINES + len(took)
    assert runs.verify(redis=relay_client()) == []
