"""The style guide: who sees it, and whether its classes and tokens exist."""

import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.test import Client

from accounts.models import User
from common.bundles import STYLES

pytestmark = pytest.mark.django_db


def test_only_staff_see_the_style_guide_in_production(client: Client) -> None:
    assert client.get("/styleguide/").status_code == 404
    client.force_login(User.objects.create_user("rita"))
    assert client.get("/styleguide/").status_code == 404
    client.force_login(User.objects.create_user("sam", is_staff=True))
    assert client.get("/styleguide/").status_code == 200


def test_style_guide_names_what_exists_and_shows_all_icons(client: Client) -> None:
    client.force_login(User.objects.create_user("sam", is_staff=True))
    page = client.get("/styleguide/").content.decode()
    styles = "".join(Path(str(finders.find(name))).read_text() for name in STYLES)
    named = [
        name
        for text in re.findall(r"<code>([.-][^<]+)</code>", page)
        for name in re.findall(r"\.[a-z-]+|--[a-z0-9-]+", text)
    ]
    assert len(named) > 30
    assert [name for name in named if not re.search(re.escape(name) + r"(?![\w-])", styles)] == []
    icons = re.findall(r'<symbol id="([^"]+)"', Path(str(finders.find("icons.svg"))).read_text())
    assert [name for name in icons if f"<code>{name}</code>" not in page] == []
