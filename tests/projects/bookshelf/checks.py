"""The project's tests. With ``--parallel 2``, each of the two cases runs in a process of its own."""

import os
from pathlib import Path

from django.test import TransactionTestCase
from redis import Redis

from mirror.redis.keys import prefix
from mirror.relay import drains
from mirror.upkeep import rebuild
from mirror.verify import runs
from tests.projects.bookshelf.models import Volume
from tests.projects.bookshelf.titles import mirrored_title, title


class _Case(TransactionTestCase):
    def check(self, name: str) -> None:
        """Volume 1 also exists for the developer, with another title."""
        volume = Volume.objects.create(pk=1, title=name)
        assert title(1) == name
        rebuild.rebuild(["volume"])
        assert mirrored_title(1) == name
        volume.title = f"{name}, revised"
        volume.save()
        drains.drain_all()
        assert mirrored_title(1) == f"{name}, revised"
        assert runs.verify() == []
        with Redis.from_url(os.environ["REDIS_URL"]) as plain:
            found = {*plain.scan_iter(f"{prefix.current()}*")}
            assert f"{prefix.current()}volume:1".encode() in found
        Path(os.environ["BOOKSHELF_FOLDER"], f"{prefix.current()}".replace(":", " ")).touch()


class FirstTests(_Case):
    def test_reads_and_writes(self) -> None:
        self.check("first")


class SecondTests(_Case):
    def test_reads_and_writes(self) -> None:
        self.check("second")
