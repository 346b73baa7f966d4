"""What people all over the world type into the forms: names of any script, and what keyboards and web pages add.

Each row goes through HTTP. The rows are examples of readers' reports and of the standards that the rules follow.
"""

import re
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils.html import escape

from accounts.models import EmailChange, User
from accounts.users.reserved import list_path_words
from accounts.words import has_link
from catalog.models import Book
from catalog.shelves.models import ReadingGoal
from common.text import clean_parameter, shorten_text
from mirror.relay.drains import drain_all
from shop.models import Order
from social.models import Mention, ReaderProfile
from tests.support.accounts.mail import deliver_emails
from tests.support.accounts.people import warm_users
from tests.support.shop.make import make_product

PASSWORD = "a quiet bookshop"
JSON = {"Accept": "application/json"}
TAKEN = "That name is already taken."

NAMES = [
    "राम",
    "அருண்",
    "วิชัย",
    "محمّد",
    "علی\u200cرضا",
    "O’Brien",
    "ශ්\u200dරී",  # Sinhala
    "শ্রীলেখা",
    "র\u200d্যাচেল",  # Bengali: Rachel
    "ഹരികൃഷ്ണന്\u200d",  # Malayalam with a joiner at the end
    "नागेश्\u200dवर",
    "မောင်မောင်",
    "སྟན་འཛིན",
    "ג׳ורג׳",
    "פַּטְרִיק",
    "សុខា",
    "ລາວ",
    "ሰላም",
    "ᐃᓄᒃᑎᑐᑦ",
    "Gal·la",
    "Oʻktam",
    "Дарʼя",
    "Դավիթ֊Անի",
    "ハリー・ポッター",
    "김Lee",
    "Nguyễn Đức",
    "Ọláńrewájú",
    "علی ۱۲",
    "ken.thompson",
    "TP.HCM",
]
WRONG_FORMATS = [
    ("two  spaces", "letters and digits"),
    ("-alice", "letters and digits"),
    ("a/b", "letters and digits"),
    ("<script>", "letters and digits"),
    ("\u0301alice", "letters and digits"),  # a mark without a letter
    ("zal\u0300\u0301\u0302\u0303\u0304\u0316go", "letters and digits"),
    ("e\u0323\u0323", "letters and digits"),
    ("क\u200dखग", "letters and digits"),
    ("ab\u20dd", "letters and digits"),  # an enclosing circle
    ("p\u0430ypal", "one script only"),
    ("ab1\u0661", "one script only"),
    ("a\u064bb", "one script only"),  # an Arabic mark on a Latin letter
    ("abกข", "one script only"),
    ("राaम", "one script only"),
    ("evil.com", "web or email address"),
    ("www.evil", "web or email address"),
]
LOOKALIKES = [
    ("paypal", "paypa1"),
    ("Iris", "lris"),
    ("coco", "\u0441\u043e\u0441\u043e"),
    ("علی\u200cرضا", "علیرضا"),
    ("O'Brien", "O’Brien"),
    ("modern", "modem"),
    ("kamil", "kamıl"),
]

pytestmark = pytest.mark.django_db(transaction=True)


def register(name: str, client: Client | None = None, **given: str) -> Any:
    fields = {"username": name, "email": "", "password1": PASSWORD, "password2": PASSWORD}
    return (client or Client()).post("/accounts/register/", fields | given)


class TestNames:
    """Tests of names of any script."""

    @pytest.mark.parametrize("name", NAMES)
    def test_a_name_of_any_script_works_everywhere(self, name: str) -> None:
        client = Client()
        assert register(name, client).status_code == 302
        owner = User.objects.get()
        assert owner.username == name
        User.objects.update(shows_logins=True)
        warm_users()
        assert client.get("/accounts/leaderboard/", headers=JSON).json()["last"][0]["name"] == name
        assert Client().post("/accounts/login/", {"username": name, "password": PASSWORD}).status_code == 302
        page = Client().get(f"/u/{quote(name)}/")
        assert page.status_code == 200
        assert escape(name) in page.content.decode()
        assert Client().get(f"/u/{quote(name)}/", headers=JSON).status_code == 200
        writer = Client()
        register("writer", writer)
        writer.post("/posts/", {"text": f"thank you, @{name}, it was (@{name}) good"})
        assert Mention.objects.get().user_id == owner.pk
        drain_all()
        assert f'<a href="/u/{quote(name)}/">@{escape(name)}</a>' in Client().get("/global/").content.decode()
        assert writer.post(f"/u/{quote(name)}/follow/", headers=JSON).json()["is_changed"]

    @pytest.mark.parametrize("name", [NAMES[0], NAMES[4], NAMES[5]])
    def test_staff_find_export_and_save_such_a_name(self, name: str) -> None:
        register(name)
        staff = Client()
        staff.force_login(User.objects.create_superuser("root", password=PASSWORD))
        found = staff.get("/admin/accounts/user/", {"q": name}).content.decode()
        assert escape(name) in found
        pk = User.objects.get(username=name).pk
        page = staff.get(f"/admin/accounts/user/{pk}/change/")
        assert "username" in page.context["adminform"].form.initial
        form = type(page.context["adminform"].form)({"username": name}, instance=User.objects.get(pk=pk))
        assert "username" not in form.errors

    def test_a_wrong_format_is_never_called_taken(self) -> None:
        for name, message in WRONG_FORMATS:
            page = register(name).content.decode()
            assert message in page
            assert TAKEN not in page
            assert not User.objects.exists()

    @pytest.mark.parametrize(
        "typed",
        ["al\u200bice", "\u200ealice\u200f", "ａｌｉｃｅ", "al\u00adice", "al\u200cice", "alice\u2060", "\u3000alice"],
    )
    def test_a_name_is_cleaned_before_it_is_checked(self, typed: str) -> None:
        assert register(typed).status_code == 302
        assert User.objects.get().username == "alice"

    @pytest.mark.parametrize(("name", "other"), LOOKALIKES)
    def test_a_name_that_looks_like_another_is_taken(self, name: str, other: str) -> None:
        assert register(name).status_code == 302
        assert TAKEN in register(other).content.decode()

    @pytest.mark.parametrize(
        "name",
        ["login", "LOGIN", "log-in", "l0gin", "followers", "shelves", "accounts", "Sale", "password_reset", "colophon"],
    )
    def test_words_of_the_sites_addresses_are_reserved(self, name: str) -> None:
        response = register(name)
        if name == "colophon":  # the site has no such address
            assert response.status_code == 302
        else:
            assert TAKEN in response.content.decode()

    def test_every_part_of_every_address_is_reserved(self) -> None:
        assert {"login", "admin", "u", "followers", "unfollow", "books", "sale", "healthz"} <= list_path_words()


ADDRESSES_OF_EMAILS = [
    "ann\u200b@example.org",
    "\ufeffann@example.org\u200e",
    "ａｎｎ＠ｅｘａｍｐｌｅ．ｏｒｇ",
    "ann\u00ad@exam\u2060ple.org",
    "\u202aann@example.org\u202c",
    "ann@example.org\u00a0",
]
ADDRESSES = ["\u200fרחוב הרצל 5\u200f\nתל אביב", "P.O.Box 123\nTP.HCM", "１２３ Main Street"]
WORDS = [
    "P.O.Box 123",
    "TP.HCM",
    "12 Nguyễn Huệ, Q.1, TP.HCM",
    "J.R.R.Tolkien",
    "St.Petersburg",
    "ul.Nowa 3",
    "No.5, Str.12",
    "Flat 3.B, Apt.7",
    "1.Stock",
    "c/o A.B.Young",
]
LINKS = [
    "see https://evil.example/x",
    "www.evil.photography",
    "evil.com",
    "http evil.co.uk now",
    "пример.рф",
    "win@evil.org",
    "10.0.0.1",
    "evil．com",
    "bit.ly",
    "a.b.com",
    "evil.example/login",
]


class TestFields:
    """Tests of what keyboards and web pages add to values."""

    @pytest.mark.parametrize("typed", ADDRESSES_OF_EMAILS)
    def test_an_address_is_cleaned_before_it_is_checked(self, typed: str) -> None:
        assert register("ann", email=typed).status_code == 302
        assert EmailChange.objects.get().email == "ann@example.org"

    @pytest.mark.parametrize("email", ["ann\u200b@example.org", "ＡＮＮ@example.org", "ann@example.org\u200f"])
    def test_a_reset_link_is_sent_to_the_address_that_was_meant(self, email: str) -> None:
        User.objects.create_user("ann", email="ann@example.org", password=PASSWORD)
        Client().post("/accounts/password_reset/", {"email": email})
        assert [mail.to for mail in deliver_emails()] == [["ann@example.org"]]

    @pytest.mark.parametrize("typed", ["２", "\u200b2", "２\u200f", "٢", "२", "\u00a02", "\u20662\u2069"])
    def test_quantities_in_all_digits_are_numbers(self, typed: str) -> None:
        product = make_product()
        client = Client()
        client.post("/shop/cart/", {"product": str(product.pk), "quantity": typed})
        assert client.get("/shop/cart/", headers=JSON).json()["lines"][0]["quantity"] == 2

    @pytest.mark.parametrize("typed", ["１２", "١٢", "\u200e12", "12\u2060", "१२"])
    def test_a_reading_goal_in_all_digits_is_a_number(self, typed: str) -> None:
        client = Client()
        client.force_login(User.objects.create_user("ann"))
        client.post("/shelves/goal/", {"books": typed})
        assert ReadingGoal.objects.get().books == 12

    @pytest.mark.parametrize(
        "card",
        [
            "４２４２４２４２４２４２４２４２",
            "4242\u20114242\u20114242\u20114242",
            "٤٢٤٢٤٢٤٢٤٢٤٢٤٢٤٢",
            "\u200e4242 4242\u00a04242\u20094242\u200f",
            "4242–4242–4242–4242",
        ],
    )
    @pytest.mark.parametrize("address", ADDRESSES)
    def test_an_order_is_placed_with_what_people_paste(self, card: str, address: str) -> None:
        product = make_product()
        client = Client()
        client.force_login(User.objects.create_user("ann", email="ann@example.org"))
        client.post("/shop/cart/", {"product": str(product.pk), "quantity": "１"})
        page = client.get("/shop/checkout/").content.decode()
        hidden = dict(re.findall(r'type="hidden" name="(version|total)" value="(\d+)"', page))
        given = {"name": "J.R.R.Tolkien\u200b", "email": "ann\u200b@example.org", "street": address}
        given |= {"card": card, "expiry": "１２／４０", "code": "１２３\u200f"}
        given |= {"country": "VN", "city": "Hà Nội"}
        response = client.post("/shop/checkout/", given | hidden)
        assert response.status_code == 302, response.context["form"].errors
        order = Order.objects.get()
        assert (order.name, order.email) == ("J.R.R.Tolkien", "ann@example.org")
        assert "\u200f" not in order.address
        assert "１" not in order.address

    def test_words_with_full_stops_are_no_links(self) -> None:
        for words in WORDS:
            assert not has_link(words)

    def test_links_are_found(self) -> None:
        for words in LINKS:
            assert has_link(words)

    def test_a_joiner_and_an_emoji_stay_in_a_field(self) -> None:
        for text in ("علی\u200cرضا", "👨\u200d👩\u200d👧 ❤\ufe0f", "，（你好）。", "ශ්\u200dරී", "葛\U000e0100城"):
            assert clean_parameter("address", text) == text

    def test_passwords_and_posts_are_not_changed(self) -> None:
        typed = "ｐａｓｓ\u200bword"
        for name in ("password", "new_password1", "old_password", "text"):
            assert clean_parameter(name, typed) == typed
        assert register("ann", password1=typed + " long", password2=typed + " long").status_code == 302
        assert User.objects.get().check_password(typed + " long")

    @pytest.mark.parametrize("book", ["{}", "\u200b{}", "{}\u200f"])
    def test_json_parameters_are_cleaned(self, book: str) -> None:
        client = Client()
        client.force_login(User.objects.create_user("ann"))
        novel = Book.objects.create(title="One")
        body = {"text": "good", "book": book.format(novel.pk)}
        response = client.post("/posts/", body, content_type="application/json", headers=JSON)
        assert response.status_code == 201, response.content
        assert response.json()["book"]["id"] == novel.pk

    def test_a_search_ignores_what_was_pasted_with_it(self) -> None:
        novel = Book.objects.create(title="Mort")
        staff = Client()
        user = User.objects.create_user("staff", is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename="view_book"))
        staff.force_login(user)
        assert str(novel) in staff.get("/admin/catalog/book/", {"q": "\u200bＭort\u200e"}).content.decode()


def test_excerpts_end_after_a_word() -> None:
    assert shorten_text("One, two, three", 15) == "One, two, three"
    assert [shorten_text("One, two, three", length) for length in (14, 9, 8, 2)] == ["One, two…", "One…", "One…", "O…"]
    assert shorten_text("没有空格的句子。", 5) == "没有空格…"


@pytest.mark.django_db
@pytest.mark.parametrize("letter", ["x", "ж"])
def test_a_line_end_counts_as_one_character(client: Client, letter: str) -> None:
    reader = User.objects.create_user("rita")
    client.force_login(reader)
    # As browsers send a field that they take for full.
    lines = [letter * 99] * 5 + [""]
    answer = client.post("/people/profile/", {"action": "texts", "bio": "\r\n".join(lines)})
    assert answer.status_code == 302
    assert ReaderProfile.objects.get().bio == "\n".join(lines).strip()
