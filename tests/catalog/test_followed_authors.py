"""Following authors: the button, the number of followers, and notifications of new books."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from accounts.notifications.models import Notification
from accounts.personal.registry import all_parts
from catalog import keys
from catalog.following import services
from catalog.following.models import AuthorFollow
from catalog.following.selectors import get_author_page
from catalog.models import Author, Book
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from mirror.verify.runs import verify
from tests.support.catalog.make import make_book
from tests.support.site.html import find_policy_violations
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)
JSON = {"Accept": "application/json"}


def test_a_reader_follows_an_author_and_hears_of_new_books(client: Client) -> None:
    ann, bob = User.objects.create_user("Ann"), User.objects.create_user("Bob")
    old = make_book("Dune", authors="Frank Herbert")
    author = Author.objects.get()
    rebuild()
    page, follow, own = f"/authors/{author.pk}/", f"/authors/{author.pk}/follow/", "/authors/followed/"

    # A visitor is led to the login.
    assert "/accounts/login/" in client.get(page).content.decode()
    assert client.post(follow).headers["Location"].startswith("/accounts/login/")
    client.force_login(ann)
    assert f'action="{follow}"' in client.get(page).content.decode()
    assert client.post(follow, {"next": page}).headers["Location"] == f"{page}#follow-{author.pk}"
    answer = client.post(follow, headers=JSON).json()
    assert (answer["author"]["is_followed"], answer["is_changed"]) == (True, False)
    assert client.post("/authors/999999/follow/", headers=JSON).status_code == 409
    services.follow_author(bob.pk, author.pk)
    drain_all()
    html = client.get(page).content.decode()
    assert "2 followers" in html
    assert f'action="/authors/{author.pk}/unfollow/"' in html
    assert find_policy_violations(html) == []
    assert "1 follower" not in html
    assert "Frank Herbert" in client.get(own).content.decode()
    with record() as seen:
        found = get_author_page(author.pk, ann.pk)
    assert (seen.round_trips, seen.sql) == (1, [])
    with sql_only():
        in_sql = get_author_page(author.pk, ann.pk)
    assert found is not None
    assert in_sql is not None
    assert (found.followers, found.is_followed) == (in_sql.followers, in_sql.is_followed) == (2, True)
    assert found.author.raw == in_sql.author.raw

    # Books from before the follow are not new, and a new one that is deleted again leaves no notification.
    assert not Notification.objects.exists()
    new = make_book("Dune Messiah (Dune #2)", authors="Frank Herbert")
    drain_all()
    assert set(Notification.objects.values_list("user_id", "target")) == {(ann.pk, new.pk), (bob.pk, new.pk)}
    sent = client.get("/notifications/", headers=JSON).json()["results"]
    assert [(each["kind"], each["text"], each["url"]) for each in sent] == [
        ("new_book", "New by an author you follow: Dune Messiah", f"/books/{new.pk}/")
    ]
    newest = make_book("Children of Dune", authors="Frank Herbert")
    drain_all()
    assert set(Notification.objects.values_list("target", flat=True)) == {newest.pk}
    assert verify() == []
    newest.delete()
    new.authors.clear()
    drain_all()
    assert not Notification.objects.exists()
    Book.objects.filter(pk=old.pk).update(added_at=timezone.now() + timedelta(hours=1))
    drain_all()
    assert set(Notification.objects.values_list("target", flat=True)) == {old.pk}
    assert verify(["author_follow", "notified_new_book"]) == []

    # Personal data, and the end of a follow
    (part,) = (part for part in all_parts() if part.name == "followed_authors")
    assert part.read is not None
    assert [row["author__name"] for row in part.read(ann.pk)] == ["Frank Herbert"]
    client.post(f"/authors/{author.pk}/unfollow/")
    drain_all()
    assert client.get(own, headers=JSON).json() == {"authors": []}
    part.erase(bob.pk)
    assert not AuthorFollow.objects.exists()
    author.delete()
    drain_all()
    assert client.get(page).status_code == 404
    assert keys.author_followers(5) == "author_followers:{5}"


def test_a_reader_follows_a_limited_number_of_authors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "MAX_FOLLOWED", 1)
    ann = User.objects.create_user("Ann")
    one, other = (Author.objects.create(name=name) for name in ("One", "Other"))
    assert services.follow_author(ann.pk, one.pk)
    assert not services.follow_author(ann.pk, one.pk)
    with pytest.raises(services.FollowsTooManyAuthors, match="1 authors"):
        services.follow_author(ann.pk, other.pk)
