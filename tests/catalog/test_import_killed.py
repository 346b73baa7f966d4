"""``import_goodbooks`` killed in each of its phases."""

import json
import subprocess
import sys
from collections import defaultdict

import pytest
from django.conf import settings

from catalog.models import Book, Tagging
from tests.support import samples
from tests.support.catalog.goodbooks import read_rows, read_tagged


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_an_import_continues_after_a_kill_in_any_phase(environment: dict[str, str]) -> None:
    def run(*command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, *command], cwd=settings.BASE_DIR, env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    asked = [str(samples.GOODBOOKS), "--books-only"]
    for kind in ("books", "tags", "taggings"):
        with run("-m", "tests.catalog.interrupted_import", kind, *asked) as process:
            assert process.stdout
            assert process.stdout.readline() == "in the middle\n"
            process.kill()
    assert Tagging.objects.exists()
    with run("manage.py", "import_goodbooks", *asked, "--json") as process:
        report, _ = process.communicate()
    assert process.returncode == 0
    assert json.loads(report)["added"]["taggings"] > 0
    tagged: dict[str, set[int]] = defaultdict(set)
    for name, pk in Tagging.objects.values_list("tag__name", "book_id"):
        tagged[name].add(pk)
    assert tagged == read_tagged(samples.GOODBOOKS)
    assert Book.objects.count() == sum(1 for _ in read_rows(samples.GOODBOOKS, "books.csv"))
