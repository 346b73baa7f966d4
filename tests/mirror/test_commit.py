"""Errors in callbacks after a commit are logged with the callback's name and affect nothing else."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.db import transaction

from mirror.utils.commit import after_commit

APPS = ("accounts", "catalog", "common", "config", "demo", "loginlog", "mirror", "shop", "social")


def tell(found: list[str], word: str) -> None:
    found.append(word)


def fail() -> None:
    raise ZeroDivisionError("on purpose")


@pytest.mark.django_db(transaction=True)
def test_failed_callback_is_logged_by_name_and_the_next_one_runs(caplog: pytest.LogCaptureFixture) -> None:
    found: list[str] = []
    with transaction.atomic():
        after_commit(fail)
        after_commit(tell, found, "told")
        assert found == []
    assert found == ["told"]
    assert "Error calling fail in on_commit() during transaction (on purpose)" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_callback_of_a_rolled_back_transaction_never_runs() -> None:
    found: list[str] = []
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        after_commit(tell, found, "told")
        fail()
    assert found == []


def test_robust_callbacks_are_never_partials() -> None:
    sources = [path for app in APPS for path in (Path(settings.BASE_DIR) / app).rglob("*.py")]
    assert [path for path in sources if re.search(r"on_commit\(\s*partial\(", path.read_text())] == []
