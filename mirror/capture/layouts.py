"""The layouts that ``migrate`` recorded in SQL, so that two versions of the code never write two layouts.

During a rolling deployment, processes of the older code run beside those of the newer one. A process whose declaration
differs from the recorded layout neither drains nor rebuilds that mirror, and reads SQL. The newest ``migrate`` wins.
"""

from collections.abc import Mapping
from typing import Any

from django.apps import apps as present_apps

from mirror import registry
from mirror.conf import setting
from mirror.models import State

REASON = "migrate recorded another layout, so another version of the code maintains this mirror"


def record(using: str, apps: Any = None) -> None:
    """Record the layouts of the registered mirrors, and forget those of unregistered ones."""
    states = (apps or present_apps).get_model("mirror", "State")
    if "layout" not in {field.name for field in states._meta.get_fields()}:
        return  # the migration of this column follows
    rows = states._base_manager.using(using)
    known = dict(rows.values_list("mirror", "layout"))
    wanted = {mirror.name: str(mirror.version) for mirror in registry.all_mirrors()}
    rows.bulk_create([states(mirror=name, layout=wanted[name]) for name in wanted.keys() - known.keys()])
    for name in known:
        if known[name] != wanted.get(name, ""):
            rows.filter(mirror=name).update(layout=wanted.get(name, ""))


def find_outdated() -> Mapping[str, str]:
    """Return the recorded layouts that differ from this process's declarations, by mirror (one query)."""
    rows = State.objects.using(setting("DATABASE")).exclude(layout="")
    found = dict(rows.values_list("mirror", "layout"))
    return {
        m.name: found[m.name] for m in registry.all_mirrors() if found.get(m.name, str(m.version)) != str(m.version)
    }


def is_recorded(name: str) -> bool:
    """Return whether the newest code has a mirror called ``name``, even if this process has none."""
    return State.objects.using(setting("DATABASE")).filter(mirror=name).exclude(layout="").exists()
