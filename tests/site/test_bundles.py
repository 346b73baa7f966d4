"""The bundles of styles and scripts, and what a first visit loads."""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.management import call_command
from django.test import Client, override_settings

from common import template_functions
from common.bundles import BUNDLES

MAX_REQUESTS = 6
MAX_BYTES = 45_000
LOADED = re.compile(r'(?:<link rel="(?:stylesheet|icon|preload)"|<script|<use|<img)[^>]* (?:href|src)="(/[^"#]+)')
OWN_RULE = re.compile(r"[.#][a-z][a-z-]{4,}|\"[a-z-]{4,}\"")  # a class, an id or a text, as minified files have it too
STORAGES = settings.STORAGES | {"staticfiles": {"BACKEND": "common.bundles.BundledStorage"}}


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Collect the static files as a deployment does, and return their folder."""
    folder = tmp_path_factory.mktemp("static")
    with override_settings(STATIC_ROOT=str(folder), STORAGES=STORAGES):
        call_command("collectstatic", interactive=False, verbosity=0)
        template_functions._get_production_url.cache_clear()
        yield folder
    template_functions._get_production_url.cache_clear()


@pytest.mark.parametrize("bundle", BUNDLES)
def test_a_bundle_has_all_its_parts_in_order_and_is_minified(bundle: str, collected: Path) -> None:
    text, end, size = (collected / bundle).read_text(), 0, 0
    for part in BUNDLES[bundle][1]:
        found = finders.find(part)
        assert found, part
        source = Path(found).read_text()
        rule = OWN_RULE.findall(source)[-1]
        assert text.find(rule, end) >= 0, (part, rule)
        end, size = text.find(rule, end), size + len(source)
    assert len(text) < size
    assert "\n/*" not in text


def test_a_second_collection_writes_the_same_bundles(collected: Path) -> None:
    before = {name: (collected / name).read_bytes() for name in BUNDLES}
    call_command("collectstatic", interactive=False, verbosity=0)
    assert {name: (collected / name).read_bytes() for name in BUNDLES} == before


@pytest.mark.only_on("sqlite")  # where the other tests collect the files, too
@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/", "/books/", "/about/"])
def test_a_first_visit_loads_few_and_small_files(path: str, collected: Path, client: Client) -> None:
    page = client.get(path).content
    files = {name for name in LOADED.findall(page.decode()) if not name.endswith(".ico")}  # for browsers without SVG
    hashed = [collected / name.removeprefix(settings.STATIC_URL) for name in files]
    assert [file.name for file in hashed if not re.search(r"\.[0-9a-f]{12}\.", file.name)] == []
    sizes = [len(gzip.compress(page, 6))] + [_measure_transfer(file) for file in hashed]
    assert (len(sizes) <= MAX_REQUESTS, sum(sizes) <= MAX_BYTES) == (True, True), (sizes, files)


def _measure_transfer(file: Path) -> int:
    """Return the bytes of a file as WhiteNoise sends it to a browser that accepts brotli, as all do."""
    packed = file.with_name(file.name + ".br")
    return (packed if packed.exists() else file).stat().st_size
