"""The layouts that ``migrate`` recorded in SQL, so that two versions of the code never write two layouts.

During a rolling deployment, processes of the older code run beside those of the newer one. A process whose declaration
differs from the recorded layout neither drains nor rebuilds that mirror, and reads SQL. The newest ``migrate`` wins.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from django.apps import apps as present_apps

from mirror import registry
from mirror.conf import setting
from mirror.declare.sources import digest_methods
from mirror.models import State

REASON = "migrate recorded another layout, so another version of the code maintains this mirror"


def record(using: str, apps: Any = None) -> None:
    """Record the layouts of the registered mirrors, and forget those of unregistered ones."""
    states = (apps or present_apps).get_model("mirror", "State")
    if not {"layout", "methods"} <= {field.name for field in states._meta.get_fields()}:
        return  # the migrations of these columns follow
    rows = states._base_manager.using(using)
    known = {name: both for name, *both in rows.values_list("mirror", "layout", "methods")}
    wanted = {mirror.name: [str(mirror.version), digest_methods(mirror)] for mirror in registry.all_mirrors()}
    created = [
        states(mirror=name, layout=wanted[name][0], methods=wanted[name][1]) for name in wanted.keys() - known.keys()
    ]
    rows.bulk_create(created)
    for name in known:
        layout, methods = wanted.get(name, ["", ""])
        if known[name] != [layout, methods]:
            rows.filter(mirror=name).update(layout=layout, methods=methods)


def find_outdated(states: Iterable[State] | None = None) -> Mapping[str, str]:
    """Return the recorded layouts that differ from this process's declarations, by mirror.

    states: all rows, if they are known. Otherwise one query.
    """
    if states is None:
        states = State.objects.using(setting("DATABASE")).only("layout")
    recorded = {state.mirror: state.layout for state in states if state.layout}
    outdated: dict[str, str] = {}
    for mirror in registry.all_mirrors():
        layout = recorded.get(mirror.name)
        if layout is not None and layout != str(mirror.version):
            outdated[mirror.name] = layout
    return outdated


def find_changed() -> list[str]:
    """Return the mirrors whose methods differ from the recorded ones, although their layouts are equal (one query)."""
    rows = State.objects.using(setting("DATABASE")).exclude(layout="").exclude(methods="")
    recorded = {name: (layout, methods) for name, layout, methods in rows.values_list("mirror", "layout", "methods")}
    changed: list[str] = []
    for mirror in registry.all_mirrors():
        layout, methods = recorded.get(mirror.name, (None, None))
        if layout == str(mirror.version) and methods != digest_methods(mirror):
            changed.append(mirror.name)
    return changed


def is_recorded(name: str) -> bool:
    """Return whether the newest code has a mirror called ``name``, even if this process has none."""
    return State.objects.using(setting("DATABASE")).filter(mirror=name).exclude(layout="").exists()
