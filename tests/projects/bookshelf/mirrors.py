"""A mirror that was written without a prefix in mind."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mirror import Contribution, Family, Member, Mirror, Watch, register
from tests.projects.bookshelf.models import Volume

TITLES = "volumes:titles:"


@register
class VolumeMirror(Mirror):
    """A record for each volume, and a set of ids for each title."""

    name = "volume"
    model = Volume
    watches = (Watch(Volume),)

    def record_key(self, pk: str) -> str:
        return f"volume:{pk}"

    def load(self, pks: Sequence[str]) -> Mapping[str, Volume]:
        return {str(volume.pk): volume for volume in Volume.objects.filter(pk__in=pks)}

    def record(self, row: Any) -> dict[str, Any]:
        return {"id": row.pk, "title": row.title}

    def index(self, pk: str, record: dict[str, Any]) -> Iterable[Contribution]:
        return [Member(f"{TITLES}{record['title']}", str(record["id"]))]

    def families(self) -> Sequence[Family]:
        return (Family(TITLES, "set", lambda key, member: member),)
