"""The doctor's findings about the relay: its clocks, its sweeps and its backlog."""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from django.core.checks import CheckMessage, Error, Warning

from mirror import registry
from mirror.doctor.words import say
from mirror.outbox import changes
from mirror.outbox.identity import database_identity
from mirror.redis import naming
from mirror.redis.types import RedisClient
from mirror.status import Status, statuses
from mirror.visits import status as visits_status
from mirror.warm import rewind

DOCTOR_AGE_SECONDS: Final = 10.0  # older sweeps and changes are reported by ``mirror doctor``

MAX_CLOCK_SECONDS: Final = 1.0  # difference between the clocks of SQL and Redis
RUN: Final = "Start `manage.py mirror run`, or a Celery worker and beat."


def check_clocks(redis: RedisClient) -> Iterator[CheckMessage]:
    """Compare the clocks of SQL and Redis."""
    # SQL before and after Redis, so that a slow reply of one of them is no difference.
    before = changes.clock()
    seconds, microseconds = redis.time()
    after = changes.clock()
    clock = seconds + microseconds / 1e6
    difference = max(before - clock, clock - after)
    if difference > MAX_CLOCK_SECONDS:
        text = f"The clocks of SQL and Redis differ by {difference:.1f} s."
        hint = "Synchronize both servers (NTP). Times in reports depend on the clocks."
        yield Warning(text, hint=hint, id="mirror.W037")


def check_relay(redis: RedisClient) -> Iterator[CheckMessage]:
    """Check that a relay sweeps, and that it writes heartbeats if a mirror needs them."""
    swept, heartbeat = redis.mget([naming.clock(), naming.heartbeat()])
    yield from _check_sweep(swept)
    if heartbeat is None and registry.strict():
        text = "There is no fresh heartbeat of a relay, so readers of strict mirrors ask SQL for pending changes."
        yield Warning(text, hint=RUN, id="mirror.W038")


def _check_sweep(swept: bytes | None) -> Iterator[CheckMessage]:
    """Check the clock that each sweep writes to Redis."""
    if swept is None:
        yield Error("No relay has swept this Redis yet.", hint=RUN, id="mirror.E042")
        return
    age = changes.clock() - float(swept)
    if age > DOCTOR_AGE_SECONDS:
        yield Error(f"The last sweep of a relay was {age:.0f} s ago.", hint=RUN, id="mirror.E042")


def check_other_site(redis: RedisClient) -> Iterator[CheckMessage]:
    """Look for keys of another SQL database."""
    ours = database_identity()
    markers = _read_markers(redis)
    # The second part of a marker is the identity of the database.
    foreign = [marker for marker in markers if f"|{ours}|" not in marker]
    if not foreign and not rewind.find_others(redis, ours):
        return
    text = "Another site writes to this Redis database, or SQL was replaced a moment ago."
    if foreign:
        text += f" Mirrors with its markers: {len(foreign)}."
    hint = f"Give each site a database of its own in {say('LOCATION')}, or a prefix in {say('PREFIX')}."
    hint += " After SQL was replaced, the relay rebuilds everything."
    yield Error(text, hint=hint, id="mirror.E048")


def _read_markers(redis: RedisClient) -> list[str]:
    """Return the markers of all mirrors that have one."""
    names = [naming.marker(mirror.name) for mirror in registry.all_mirrors()]
    if not names:
        return []  # MGET needs a key
    return [text.decode() for text in redis.mget(names) if text]


def check_backlog(*, with_delays: bool = True) -> Iterator[CheckMessage]:
    """Check what waits. with_delays: also what merely waits for the relay."""
    found = statuses(count_rows=False)
    for status in found:
        # Also while Redis refuses writes: quarantined changes have a cause of their own.
        yield from _check_quarantined(status)
        if with_delays:
            yield from _check_delay(status)
    if with_delays:
        yield from _check_cold(found)


def _check_quarantined(status: Status) -> Iterator[CheckMessage]:
    if status.quarantined:
        text = f"Mirror {status.mirror!r} has quarantined changes: {status.quarantined}."
        hint = "Correct the cause (the admin shows the errors), then run `manage.py mirror drain --retry`."
        yield Error(text, hint=hint, id="mirror.E043")


def _check_delay(status: Status) -> Iterator[CheckMessage]:
    if status.oldest_pending_seconds > DOCTOR_AGE_SECONDS:
        text = f"Mirror {status.mirror!r} has {status.pending} pending changes, the oldest for"
        text += f" {status.oldest_pending_seconds:.0f} s."
        yield Warning(text, hint=f"{RUN} Its log names failing changes.", id="mirror.W039")


def _check_cold(found: Sequence[Status]) -> Iterator[CheckMessage]:
    # Other findings report missing triggers and other layouts.
    cold = [status for status in found if status.warm is False and not status.faults]
    if cold:
        names = {status.mirror for status in cold}
        explained = ", ".join(_explain_cold(status, names) for status in cold)
        text = f"SQL answers for cold mirrors: {explained}."
        hint = "The relay rebuilds them; `manage.py mirror rebuild` does so at once."
        yield Warning(text, hint=hint, id="mirror.W040")


def _explain_cold(status: Status, cold: Collection[str]) -> str:
    """Return the name of a cold mirror and why it is cold, if known."""
    waits = [name for name in registry.ahead(status.mirror) if name in cold]
    if waits:
        return f"{status.mirror} (waits for {', '.join(waits)})"
    if status.rebuilding_rows is not None:
        return f"{status.mirror} ({status.rebuilding_rows} rows rebuilt)"
    return status.mirror


def check_visits() -> Iterator[CheckMessage]:
    """Check the visits that wait for SQL."""
    for status in visits_status.statuses():
        if status.is_late(DOCTOR_AGE_SECONDS):
            text = f"{status.waiting} visits of kind {status.kind!r} wait for SQL, the oldest for"
            text += f" {status.oldest_seconds:.0f} s."
            yield Warning(text, hint=f"{RUN} Its log names failing visits.", id="mirror.W046")
        if status.restored is False:
            text = f"Data of visits of kind {status.kind!r} is not restored after a loss of Redis."
            yield Warning(text, hint=f"The relay restores it. {RUN}", id="mirror.W047")
