"""Content notes: a post with one shows its text only to readers who open it."""

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from mirror.relay.drains import drain_all
from social.models import Post
from social.services.posts import create_post, edit_post
from tests.support.social.timelines import make_users, warm_up

JSON = {"Accept": "application/json"}
NOTE = '<span class="muted">Content note:</span> <bdi>Spoilers &amp; blood</bdi>'
VEIL = f'<details class="veil"><summary>{NOTE}</summary><p class="post-text" dir="auto">'
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def reader(client: Client) -> Client:
    (alice,) = make_users("alice")
    warm_up(alice)
    client.force_login(alice)
    return client


def test_a_note_veils_the_text_on_all_pages(reader: Client) -> None:
    reader.post("/posts/", {"text": "He dies.", "note": " Spoilers  & blood "})
    post = Post.objects.get()
    edit_post(post.pk, "She dies.", by=post.user_id)
    drain_all()
    for path in ("/home/", "/global/", "/u/alice/", f"/posts/{post.pk}/", f"/posts/{post.pk}/history/"):
        page = reader.get(path).content.decode()
        assert f"{VEIL}She dies.</p></details>" in page, path
        assert page.count(" dies.") == page.count(VEIL), path
    assert f"{VEIL}He dies.</p></details>" in reader.get(f"/posts/{post.pk}/history/").content.decode()
    assert reader.get(f"/posts/{post.pk}/", headers=JSON).json()["note"] == "Spoilers & blood"


def test_a_post_without_a_note_has_no_veil(reader: Client) -> None:
    create_post(User.objects.get().pk, "He lives.")
    drain_all()
    assert 'class="veil"' not in reader.get("/home/").content.decode()


@pytest.mark.parametrize("note", ["x" * 101, 7, None])
def test_a_refused_note_creates_no_post(reader: Client, note: Any) -> None:
    response = reader.post("/posts/", {"text": "Hm", "note": note}, content_type="application/json")
    assert (response.status_code, response.json()["error"]["field"]) == (400, "note")
    assert not Post.objects.exists()


def test_the_form_keeps_a_refused_note(reader: Client) -> None:
    page = reader.post("/posts/", {"text": "x" * 501, "note": "Spoilers"}).content.decode()
    assert '<details class="composer-note" open>' in page
    assert 'name="note" value="Spoilers"' in page
