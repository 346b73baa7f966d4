"""An upgrade from an earlier version: pending changes arrive, and the triggers are the present ones.

The triggers of version 0.1 are copies of what its ``migrate`` created. They capture one mirror only, as if the others
had been declared later.
"""

import re
import tomllib
from collections.abc import Iterator
from typing import Final

import pytest
from django.core.management import call_command
from django.db import connection
from redis import Redis

from mirror.capture import install
from mirror.models import Change
from mirror.outbox.identity import forget_identity
from tests.projects.mirrortest.models import Item
from tests.support.mirror import world
from tests.support.mirror.command import ROOT
from tests.support.mirror.outbox import orders, run

TABLE: Final = Item._meta.db_table
NAME: Final = f"mirror_{TABLE}_insert"
MARK: Final = "/* mirror: made after each migrate */"
OLD_TRIGGERS: Final = {
    "sqlite": [
        f"CREATE TRIGGER {NAME} AFTER INSERT ON {TABLE} BEGIN {MARK}\n"
        "INSERT INTO mirror_change (mirror, source, key) SELECT 'titem', '', CAST(NEW.id AS TEXT)"
        " WHERE CAST(NEW.id AS TEXT) IS NOT NULL;\nEND"
    ],
    "postgresql": [
        f"CREATE FUNCTION {NAME}() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS"
        f" $body$BEGIN {MARK}\nINSERT INTO public.mirror_change (mirror, source, key) SELECT 'titem', '', key"
        ' FROM (SELECT id::text COLLATE "C" AS key FROM new_rows) AS keys WHERE key IS NOT NULL;\n'
        "RETURN NULL;\nEND$body$",
        f"CREATE TRIGGER {NAME} AFTER INSERT ON {TABLE} REFERENCING NEW TABLE AS new_rows"
        f" FOR EACH STATEMENT EXECUTE FUNCTION {NAME}()",
    ],
}
CHANGELOG: Final = (ROOT / "docs" / "mirror" / "changelog.md").read_text(encoding="utf-8")


@pytest.fixture(params=["0001_initial", "0005_quarantined"])
def old_version(request: pytest.FixtureRequest) -> Iterator[None]:
    """Return to the tables of an earlier version and the triggers of the first one."""
    call_command("migrate", "mirror", request.param, verbosity=0)
    install.uninstall()
    run("DELETE FROM mirror_change", *OLD_TRIGGERS[connection.vendor])
    yield
    call_command("migrate", verbosity=0)
    forget_identity()


@pytest.mark.usefixtures("committed", "no_hints", "old_version")
def test_pending_changes_survive_an_upgrade(redis: Redis) -> None:
    Item.objects.bulk_create([Item(name="a"), Item(name="b")])
    run(
        "INSERT INTO mirror_change (mirror, key, applied_at) VALUES ('titem', '7', CURRENT_TIMESTAMP)",
        "INSERT INTO mirror_change (mirror, key, quarantined_at, error) VALUES ('titem', '8', CURRENT_TIMESTAMP, 'x')",
    )
    with connection.cursor() as cursor:
        cursor.execute("SELECT id, key, applied_at IS NULL, error FROM mirror_change ORDER BY id")
        before = cursor.fetchall()
    assert [key for _, key, *_ in before[2:]] == ["7", "8"]
    call_command("migrate", verbosity=0)
    forget_identity()
    kept = Change.objects.filter(pk__in=[row[0] for row in before]).order_by("pk")
    found = [(change.pk, change.key, change.applied_at is None, change.error) for change in kept]
    assert found == [(pk, key, bool(is_pending), error) for pk, key, is_pending, error in before]
    assert install.missing() == []
    assert {"latest", "tgroup"} <= set(orders())  # the old triggers did not capture their changes
    world.warm_own()
    assert not Change.objects.pending().exists()
    names = {value["name"] for key, value in world.dump(redis).items() if re.fullmatch(r"titem:\d+", key)}
    assert names == {"a", "b"}


@pytest.mark.only_on("sqlite")
def test_changelog_begins_with_the_present_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert re.findall(r"^## ([\d.]+)", CHANGELOG, re.MULTILINE)[0] == project["version"]
