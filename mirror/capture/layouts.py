"""The layouts that ``migrate`` recorded in SQL, so that two versions of the code never write two layouts.

During a rolling deployment, processes of the older code run beside those of the newer one. A process whose declaration
differs from the recorded layout neither drains nor rebuilds that mirror, and reads SQL. The newest ``migrate`` wins.
The statement that reads pending changes asks for the layout as well, because a drain between two checks would write the
older layout behind the rebuild.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from django.apps import apps as present_apps
from django.db import models

from mirror import registry
from mirror.conf import setting
from mirror.declare.sources import digest_methods
from mirror.models import State

REASON = "migrate recorded another layout, so another version of the code maintains this mirror"
REASON_UNRECORDED = "the newest migrate is that of code without this mirror, so its changes are not captured"


class Recorded(NamedTuple):
    """What ``migrate`` records of a mirror: its layout, and the digest of its methods."""

    layout: str
    methods: str


UNREGISTERED: Final = Recorded("", "")


def record(using: str, apps: Any = None) -> None:
    """Record the layouts of the registered mirrors, and forget those of unregistered ones."""
    # In ``post_migrate``, the models as they are at this migration
    states = (apps or present_apps).get_model("mirror", "State")
    columns = {field.name for field in states._meta.get_fields()}
    if not columns.issuperset(Recorded._fields):
        # The migrations of these columns follow.
        return
    rows = states._base_manager.using(using)
    known = _read_recorded(rows)
    wanted = {mirror.name: Recorded(str(mirror.version), digest_methods(mirror)) for mirror in registry.all_mirrors()}
    unknown = wanted.keys() - known.keys()
    rows.bulk_create([states(mirror=name, **wanted[name]._asdict()) for name in unknown])
    for name, recorded in known.items():
        present = wanted.get(name, UNREGISTERED)
        if recorded != present:
            rows.filter(mirror=name).update(**present._asdict())


def _read_recorded(rows: "models.QuerySet[Any]") -> dict[str, Recorded]:
    """Return what these rows record, by mirror."""
    recorded: dict[str, Recorded] = {}
    for name, layout, methods in rows.values_list("mirror", "layout", "methods"):
        recorded[name] = Recorded(layout, methods)
    return recorded


def find_outdated(states: Iterable[State] | None = None) -> Mapping[str, str]:
    """Return the recorded layouts that differ from this process's declarations, by mirror.

    states: all rows, if they are known. Otherwise one query.
    """
    if states is None:
        states = State.objects.using(setting("DATABASE")).only("layout")
    layouts = {state.mirror: state.layout for state in states if state.layout}
    outdated: dict[str, str] = {}
    for mirror in registry.all_mirrors():
        present = str(mirror.version)
        # A mirror without a recorded layout is new, and no other code maintains it.
        if layouts.get(mirror.name, present) != present:
            outdated[mirror.name] = layouts[mirror.name]
    return outdated


def find_unrecorded(states: Iterable[State]) -> list[str]:
    """Return the mirrors of this process without a recorded layout. states: all rows."""
    recorded = {state.mirror for state in states if state.layout}
    return [mirror.name for mirror in registry.all_mirrors() if mirror.name not in recorded]


def find_removed(states: Iterable[State]) -> list[str]:
    """Return the mirrors that neither the newest ``migrate`` nor this process has. states: all rows."""
    present = {mirror.name for mirror in registry.all_mirrors()}
    return [state.mirror for state in states if not state.layout and state.mirror not in present]


def find_changed() -> list[str]:
    """Return the mirrors whose methods differ from the recorded ones, although their layouts are equal (one query)."""
    rows = State.objects.using(setting("DATABASE")).exclude(layout="").exclude(methods="")
    found = _read_recorded(rows)
    changed: list[str] = []
    for mirror in registry.all_mirrors():
        recorded = found.get(mirror.name, UNREGISTERED)
        is_same_layout = recorded.layout == str(mirror.version)
        if is_same_layout and recorded.methods != digest_methods(mirror):
            changed.append(mirror.name)
    return changed


def is_recorded(name: str) -> bool:
    """Return whether the newest code has a mirror called ``name``, even if this process has none."""
    return State.objects.using(setting("DATABASE")).filter(mirror=name).exclude(layout="").exists()
