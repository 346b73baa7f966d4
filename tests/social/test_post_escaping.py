"""Names, titles and hashtags with markup appear as text on every page."""

import pytest
from django.test import Client

from accounts.models import User
from social.models import Hashtag, Mention, Post
from social.services.posts import create_post
from tests.support.catalog.make import make_book
from tests.support.site.html import find_policy_violations
from tests.support.social.timelines import make_users, warm_up

pytestmark = pytest.mark.django_db(transaction=True)
EVIL = "<script>alert('1')</script>\"onmouseover=\"x"


def test_user_input_never_becomes_markup(client: Client) -> None:
    (alice,) = make_users("alice")
    book = make_book(EVIL, authors="<b>x</b>")
    made = create_post(alice.pk, f"{EVIL} #tag @alice https://a.example/?{EVIL}", book_id=book.pk)
    # Bypass the validation, as a script with access to SQL could.
    User.objects.filter(pk=alice.pk).update(username=EVIL[:60])
    Mention.objects.update(name=EVIL[:60])
    Hashtag.objects.update(name="<script>")
    Post.objects.filter(pk=made.pk).update(text=f"{made.text} @{EVIL}")
    warm_up(alice)
    client.force_login(alice)
    for path in ("/home/", "/global/", f"/posts/{made.pk}/", f"/posts/{made.pk}/delete/", "/mentions/",
                 f"/books/{book.pk}/", f"/books/{book.pk}/posts/"):  # fmt: skip
        html = client.get(path).content.decode()
        assert "alert(" in html, path
        assert "<script>" not in html, path
        assert "<b>x" not in html, path
        assert [found for found in find_policy_violations(html) if "https://a.example/" not in found] == [], path
