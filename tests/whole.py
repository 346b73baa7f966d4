"""Having mirrors whole: the site's, or those of the mirror's own tests. Each takes a few milliseconds, rows or none."""

from collections.abc import Iterable

from mirror import rebuild as mirror_rebuild
from mirror import registry

OWN = [mirror.name for mirror in registry.all_mirrors() if type(mirror).__module__.startswith("tests.")]
SITE = [mirror.name for mirror in registry.all_mirrors() if mirror.name not in OWN]
ALL = [*SITE, *OWN]


def rebuild(names: Iterable[str] = SITE) -> list[mirror_rebuild.Rebuilt]:
    """Rebuild these mirrors, by default the site's."""
    return mirror_rebuild.rebuild(names)
