"""Uploaded files are discarded."""

from io import BytesIO
from typing import Any

import pytest
from django.core.files import uploadedfile
from django.test import Client

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("size", [10, 3_000_000])  # Django keeps the smaller one in memory
def test_uploaded_file_is_discarded_and_the_form_is_read(
    client: Client, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    kept: list[Any] = []
    for kind in ("InMemoryUploadedFile", "TemporaryUploadedFile"):
        monkeypatch.setattr(getattr(uploadedfile, kind), "__init__", lambda self, *rest, **more: kept.append(self))
    file = BytesIO(b"x" * size)
    file.name = "x.bin"
    response = client.post("/look/theme/", {"file": file, "theme": "dark"})
    assert response.status_code == 302
    assert response.cookies["theme"].value == "dark"
    assert kept == []
