"""Explain one row by each mirror of its model."""

from mirror import registry
from mirror.comparison.explained import Explained
from mirror.declare.mirrors import Mirror
from mirror.kinds import kind_of
from mirror.redis.clients import relay_client
from mirror.redis.session import Session
from mirror.redis.types import RedisClient


class NothingToExplain(LookupError):
    """The model is unknown or has no mirror."""


def find_mirrors(name: str) -> list[Mirror]:
    """Return the mirrors of a model ("catalog.Book" or "book"), or the mirror of that name. Raises NothingToExplain."""
    wanted = name.lower()
    labels: set[str] = set()
    exact: list[Mirror] = []
    by_bare_name: list[Mirror] = []
    for mirror in registry.all_mirrors():
        label = kind_of(mirror).name_model()
        labels.add(label)
        _app, _dot, bare = label.lower().rpartition(".")
        if mirror.name == name or label.lower() == wanted:
            exact.append(mirror)
        elif bare == wanted:
            by_bare_name.append(mirror)
    # A bare name counts last: it may be that of models of several apps.
    found = exact or by_bare_name
    if not found:
        known = ", ".join(sorted(labels - {""})) or "none"
        raise NothingToExplain(f"no mirror has a model called {name!r} (mirrored: {known})")
    return found


def explain(name: str, pk: str, *, redis: RedisClient | None = None) -> list[Explained]:
    """Explain row ``pk`` of a model by each of its mirrors. Raises NothingToExplain."""
    mirrors = find_mirrors(name)
    possible = [mirror for mirror in mirrors if mirror.is_possible(pk)]
    if not possible:
        label = kind_of(mirrors[0]).name_model() or name
        raise NothingToExplain(f"{pk!r} cannot be the key of a {label}")
    with Session(redis or relay_client()) as session:
        return [kind_of(mirror).explain(pk, session) for mirror in possible]
