"""Hashtags: syntax, folding and pages."""

from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client

from mirror.relay.drains import drain_all
from social.content.tokens import find_hashtags, fold_hashtag
from social.models import Hashtag
from social.services.posts import MAX_HASHTAGS, create_post
from tests.support.social.timelines import make_users, warm_up

JSON = "application/json"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("#Ruby and #ruby and #ＲＵＢＹ", ["ruby"]),
        ("#one#two", ["one"]),
        ("(#a) [#b], #c.", ["a", "b", "c"]),
        ("#snake_case #kebab-case", ["snake_case", "kebab-case"]),
        ("#读书 #हिन्दी #עברית #русский #日本語タグ", ["读书", "हिन्दी", "עברית", "русский", "日本語タグ"]),
        ("我在读#三体 很好", ["三体"]),
        ("#三体#很好看 我在读#红楼梦#很好", ["三体", "红楼梦"]),
        ("a#b", []),
        ("＃読書", ["読書"]),
        ("#2024 #1 #2024books #_", ["2024books"]),
        ("#Straße #STRASSE", ["strasse"]),
        ("#می‌خواهم #میخواهم", ["میخواهم"]),
        ("C# &#39; ## #", []),
        ("https://example.com/#part www.example.com/#part", []),
        ("https://example.com/#part #real", ["real"]),
        ("#" + "x" * 101, []),
        ("#" + "x" * 100, ["x" * 100]),
        ("#ﷺ", []),
        ("#e\u0301te\u0301", ["été"]),
        ("@nobody #tag", ["tag"]),
        ("#\u0301", []),
    ],
)
def test_a_hashtag_is_a_word_of_any_script(text: str, found: list[str]) -> None:
    assert find_hashtags(text) == found


@pytest.mark.parametrize("written", ["", "a b", "a/b", "1", "-", "a#b", "\0", "x" * 101])
def test_invalid_hashtags_are_not_folded(written: str) -> None:
    assert fold_hashtag(written) is None


@pytest.mark.django_db(transaction=True)
class TestPages:
    """Tests of a hashtag's page."""

    def test_a_post_keeps_its_first_twenty_hashtags(self) -> None:
        (alice,) = make_users("alice")
        create_post(alice.pk, " ".join(f"#tag{n}" for n in range(MAX_HASHTAGS + 5)))
        assert list(Hashtag.objects.order_by("pk").values_list("name", flat=True)) == [f"tag{n}" for n in range(20)]

    def test_the_page_shows_its_posts_for_any_spelling(self, client: Client) -> None:
        (alice,) = make_users("alice")
        warm_up()
        made = create_post(alice.pk, "I like #Ruby")
        create_post(alice.pk, "I like #pearls")
        drain_all()
        for spelled in ("ruby", "RUBY", "Ｒｕｂｙ"):
            html = client.get(f"/tags/{spelled}/").content.decode()
            assert '<a href="/tags/ruby/">#Ruby</a>' in html
            assert "pearls" not in html
            said = client.get(f"/tags/{spelled}/", headers={"Accept": JSON}).json()
            assert [each["id"] for each in said["results"]] == [made.pk]

    def test_an_unused_hashtag_has_an_empty_page(self, client: Client) -> None:
        response = client.get("/tags/nobody/")
        assert response.status_code == 200
        assert "No posts with this hashtag yet." in response.content.decode()
        assert "Write a post" not in response.content.decode()
        client.force_login(make_users("zoe")[0])
        assert 'href="/home/">Write a post</a>' in client.get("/tags/nobody/").content.decode()

    @pytest.mark.parametrize("path", ["/tags/123/", "/tags/a%20b/", "/tags/%00/", "/tags/%F0%9F%98%80/"])
    @pytest.mark.parametrize("accept", ["text/html", JSON])
    def test_an_invalid_hashtag_has_no_page(self, client: Client, path: str, accept: str) -> None:
        assert client.get(path, headers={"Accept": accept}).status_code == 404


@pytest.mark.django_db(transaction=True)
def test_a_migration_completes_the_hashtags_of_existing_posts() -> None:
    (alice,) = make_users("alice")
    whole = create_post(alice.pk, "#young-adult and #ruby")
    plain = create_post(alice.pk, "#ruby")
    Hashtag.objects.filter(name="young-adult").update(name="young")
    kept = Hashtag.objects.get(post=plain).pk
    migration = import_module("social.migrations.0004_hashtags_with_signs")
    with connection.schema_editor() as editor:
        migration.read_again(apps, editor)
    assert set(whole.hashtags.values_list("name", flat=True)) == {"young-adult", "ruby"}
    assert list(plain.hashtags.values_list("pk", "name")) == [(kept, "ruby")]
