"""One form of names, tags, hashtags and searched words, through the pages that people use."""

import random
import unicodedata
from typing import Any

import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher as PlainArgon2
from django.contrib.auth.hashers import make_password
from django.test import Client
from markupsafe import escape
from pytest_django.fixtures import Settings

from accounts.models import User
from catalog.names import is_hidden_name, normalise
from catalog.search.words import split_words
from common.text import fold, fold_address
from mirror.relay.drains import drain_all
from social.content.tokens import fold_hashtag
from tests.support.accounts.lockout import record_hashing
from tests.support.accounts.people import warm_users

PASSWORD = "a quiet bookshop"
JSON = "application/json"

# Each row: spellings of one name, the first of which registers.
SAME_NAMES = [
    ["İsmail", "İSMAİL", "ismail", "ISMAIL", "i\u0307smail"],
    ["ışık", "IŞIK", "Işık", "işik"],
    ["Strauß", "STRAUSS", "strauß"],
    ["Σίσυφος", "ΣΊΣΥΦΟΣ", "σίσυφοσ"],
    ["O'Brien", "O’Brien", "oʼbrien", "O‘BRIEN"],
    ["José", "Jose\u0301", "JOSÉ"],
    ["Ｋｅｎ Tanaka", "ken tanaka", "KEN TANAKA"],
    ["Đặng", "đa\u0323\u0306ng", "ĐẶNG"],
    ["Ǆordan", "ǆordan", "ǅordan"],
    ["ﾊﾙｷ", "ハルキ"],
    ["Ann-Marie", "Ann\u2011Marie", "ANN‐MARIE"],
]
SAME_TAGS = [
    ["İzmir", "İZMİR", "izmir", "IZMIR", "ızmır"],
    ["Straße", "STRASSE", "ＳＴＲＡＳＳＥ"],
    ["ΟΔΥΣΣΕΑΣ", "οδυσσεας", "οδυσσεασ"],
    ["می\u200cخواهم", "میخواهم"],
    ["été", "E\u0301TE\u0301"],
    ["ﬁction", "FICTION"],
    ["ガンダム", "ｶﾞﾝﾀﾞﾑ"],
]

pytestmark = pytest.mark.django_db(transaction=True)


def register(name: str, password: str = PASSWORD) -> Any:
    given = {"username": name, "email": "", "password1": password, "password2": password}
    return Client().post("/accounts/register/", given)


def log_in(name: str, password: str = PASSWORD) -> bool:
    return Client().post("/accounts/login/", {"username": name, "password": password}).status_code == 302


@pytest.mark.parametrize("names", SAME_NAMES, ids=lambda names: names[0])
def test_all_spellings_of_a_name_log_in_and_none_registers_again(names: list[str]) -> None:
    first, *others = names
    assert register(first).status_code == 302
    warm_users()
    for name in others:
        assert log_in(name), name
        assert "That name is already taken." in register(name).content.decode()
        assert escape(User.objects.get().username) in Client().get(f"/u/{name}/", follow=True).content.decode()
    assert User.objects.count() == 1


@pytest.mark.parametrize("tags", SAME_TAGS, ids=lambda tags: tags[0])
def test_all_spellings_of_a_hashtag_have_one_page(tags: list[str]) -> None:
    author = User.objects.create_user("author", password=PASSWORD)
    client = Client()
    client.force_login(author)
    for tag in tags:
        client.post("/posts/", {"text": f"reading #{tag} today"})
    drain_all()
    for tag in tags:
        page = client.get(f"/tags/{tag}/", headers={"Accept": JSON}).json()
        assert len(page["results"]) == len(tags), tag


SAME_WORDS = [*SAME_TAGS, *SAME_NAMES]


def test_tags_and_searched_words_agree_on_spellings() -> None:
    for words in SAME_WORDS:
        assert len({normalise(word) for word in words}) == 1
        assert len({split_words(word) for word in words}) == 1


def test_names_hashtags_and_tags_have_one_form() -> None:
    for word in (word for words in SAME_TAGS for word in words):
        assert fold(word) == normalise(word) == fold_hashtag(word)


def test_folding_a_folded_text_changes_nothing() -> None:
    letters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    changed = {form for letter in letters if (form := fold(letter)) != letter}
    assert [form for form in changed if fold(form) != form] == []
    marks = [letter for letter in letters if unicodedata.combining(letter)]
    dice = random.Random(4)
    for _ in range(20_000):
        text = "".join(dice.choices([*marks, *"iIİıjįị\u0307\u0345" * 20], k=dice.randint(2, 6)))
        form = fold(text)
        assert fold(form) == form, ascii(text)


def test_capitals_never_change_the_form() -> None:
    letters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    cased = [letter for letter in letters if not letter == letter.upper() == letter.lower()]
    assert [c for c in cased if len({fold(c), fold(c.upper()), fold(c.lower())}) > 1] == []


def test_addresses_differ_in_more_than_case() -> None:
    assert fold_address("Mike@Example.org") == fold_address("mike@example.org")
    assert fold_address("m\u0131ke@example.org") != fold_address("mike@example.org")
    assert fold_address("m\ufb01@example.org") != fold_address("mfi@example.org")


PASSWORDS = [
    ("café au lait 47", "cafe\u0301 au lait 47"),
    ("パスワードがいい本屋", "ﾊﾟｽﾜｰﾄﾞがいい本屋"),
    ("한국어로된비밀번호입니다", unicodedata.normalize("NFD", "한국어로된비밀번호입니다")),
    ("ｑｕｉｅｔ bookshop 1", "quiet bookshop 1"),
    ("mật khẩu rất dài", unicodedata.normalize("NFD", "mật khẩu rất dài")),
    ("ﬁne books are here", "fine books are here"),
]


@pytest.mark.parametrize(("stored", "typed"), [*PASSWORDS, *((b, a) for a, b in PASSWORDS)])
def test_a_password_is_accepted_in_every_normal_form(stored: str, typed: str) -> None:
    register("alice", stored)
    assert log_in("alice", typed)
    assert log_in("alice", stored)
    assert not log_in("alice", typed + "x")


@pytest.mark.parametrize("hasher", ["argon2", "pbkdf2_sha256"])
@pytest.mark.parametrize(("stored", "_other"), PASSWORDS)
def test_hashes_from_before_normalisation_keep_working(hasher: str, stored: str, _other: str) -> None:
    decomposed = unicodedata.normalize("NFD", stored)
    plain = PlainArgon2()
    plain.time_cost, plain.memory_cost, plain.parallelism = 1, 64, 1
    made = plain.encode(decomposed, plain.salt()) if hasher == "argon2" else make_password(decomposed, hasher=hasher)
    User.objects.create(username="alice", password=made)
    assert log_in("alice", decomposed)


def test_the_current_password_is_accepted_in_another_form_when_it_is_changed() -> None:
    client = Client()
    client.force_login(User.objects.create_user("alice", password="café au lait 47"))
    new = {"new_password1": "thé au citron 48", "new_password2": "thé au citron 48"}
    response = client.post("/accounts/password_change/", {"old_password": "cafe\u0301 au lait 47", **new})
    assert response.status_code == 302
    assert log_in("alice", "thé au citron 48")


@pytest.mark.parametrize("password", ["ｐａｓｓｗｏｒｄ１２３", "e\u0301" * 5])
def test_validators_see_the_normalised_password(password: str) -> None:
    register("alice", password)
    assert not User.objects.exists()


def test_a_typed_spelling_does_not_reveal_names() -> None:
    User.objects.create_user("alice", password=PASSWORD)
    User.objects.create_user("carol")  # has no password
    costs = []
    for name in ("alice", "carol", "unknown"):
        with record_hashing() as runs:
            assert not log_in(name, "wrong cafe\u0301")
        costs.append(len(runs))
    assert costs == [2, 2, 2]


def test_a_hidden_tag_is_hidden_in_every_spelling(settings: Settings) -> None:
    settings.CATALOG_HIDDEN_TAGS = ["izmir"]
    assert all(map(is_hidden_name, SAME_TAGS[0]))
