"""Each reader sees times in a time zone of their own."""

from datetime import UTC, date, datetime
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from accounts.models import User
from catalog.shelves.models import ShelfEntry
from common.template_functions import format_local_time
from social.models import Post
from tests.support.catalog.make import make_book
from tests.support.warm_mirrors import rebuild

PREFERENCES = "/accounts/preferences/"
EVENING = datetime(2026, 3, 1, 20, 30, tzinfo=UTC)  # the next morning in Kiritimati

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_reader_sees_times_in_the_chosen_zone(settings: Settings) -> None:
    reader, other = (User.objects.create_user(name, is_staff=True, is_superuser=True) for name in ("rita", "otto"))
    book = make_book("The Book of Sand")
    post = Post.objects.create(user=other, text="good evening", created_at=EVENING)
    settings.CLOCK = lambda: EVENING
    settings.SECOND_FACTOR_FOR_STAFF = False
    rebuild()
    rita, otto = Client(), Client()
    rita.force_login(reader)
    otto.force_login(other)

    def show(client: Client, path: str = f"/posts/{post.pk}/") -> str:
        return client.get(path).content.decode()

    # Without a chosen zone a script shows the hour, which no server knows.
    unchosen = '<time data-local="age" datetime="2026-03-01T20:30:00+00:00" title="1 Mar 2026" data-ago>'
    assert unchosen in show(rita)
    assert rita.post(PREFERENCES, {"time_zone": "Mars/Olympus"}).status_code == 200, "shown again with an error"
    rita.post(PREFERENCES, {"time_zone": "Pacific/Kiritimati"})
    assert 'value="Pacific/Kiritimati" selected' in show(rita, PREFERENCES)
    assert "2 Mar 2026, 10:30" in show(rita)
    assert "data-local" not in show(rita)
    with timezone.override("Pacific/Kiritimati"):
        shown = [format_local_time(EVENING, style) for style in ("clock", "day", "soon")]
    assert shown == ["10:30", "2 Mar 2026", "2 Mar, 10:30"]
    for client in (otto, Client()):
        assert unchosen in show(client), "neither a remembered card nor the thread keeps the zone"
    rita.post(f"/books/{book.pk}/shelf/", {"action": "shelf", "shelf": "reading"})
    assert ShelfEntry.objects.get(user=reader).started_on == date(2026, 3, 2)
    seen: Any = rita.get("/admin/")
    assert seen.status_code == 200
    assert timezone.get_current_timezone_name() == "UTC"
    # Browsers and older accounts tell names out of use, which the form does not offer.
    assert 'value="Asia/Calcutta"' not in show(rita, PREFERENCES)
    rita.post(PREFERENCES, {"time_zone": "Asia/Calcutta"})
    assert User.objects.get(pk=reader.pk).time_zone == "Asia/Kolkata"
    User.objects.filter(pk=reader.pk).update(time_zone="Asia/Calcutta")
    assert 'value="Asia/Kolkata" selected' in show(rita, PREFERENCES)
    User.objects.filter(pk=reader.pk).update(time_zone="Atlantis/Capital")
    assert unchosen in show(rita), "a zone that no longer exists"
