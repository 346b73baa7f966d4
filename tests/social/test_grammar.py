"""The grammar of posts: which mentions, hashtags and links a text has, also on other sites with the same signs.

Most cases state rules that twitter-text and Mastodon publish. The catalogue adds hyphens, which its tags have.
"""

import pytest

from social.content.html import to_html
from social.content.tokens import find_hashtags, tokenise

NAMES = {"nsa", "alice", "ken", "ken thompson", "a.b", "ken-li", "小明", "bookwyrm.social", "o'neil"}


def find(kind: str, text: str) -> list[str]:
    """Return the values of the tokens of a kind."""
    return [token.value for token in tokenise(text, NAMES.__contains__) if token.kind == kind]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        # names of other sites, and addresses
        ("@nsa.gov", []),
        ("follow @nsa.gov.", []),
        ("@alice@bookwyrm.social", []),
        ("hi @alice@bookwyrm.social!", []),
        ("＠alice＠bookwyrm.social", []),
        ("@alice@", []),
        ("@ken-x", []),
        ("@ken.li", []),
        ("@ken--x", []),
        ("@ken..x", []),
        ("@ken_", []),
        ("@ken://", []),
        ("bookwyrm.social/@alice", []),
        ("example.com/?by=@alice", []),
        ("https://bookwyrm.social/@alice", []),
        ("alice@nsa.gov", []),
        ("mail first.alice@nsa", []),
        # ends of names
        ("@nsa", ["nsa"]),
        ("@nsa.", ["nsa"]),
        ("@nsa. gov", ["nsa"]),
        ("@nsa...", ["nsa"]),
        ("@nsa!", ["nsa"]),
        ("(@nsa)", ["nsa"]),
        ("@nsa: hello", ["nsa"]),
        ("@nsa - hello", ["nsa"]),
        ("@nsa/alice", ["nsa"]),
        ("@ken's", ["ken"]),
        ("@ken’s", ["ken"]),
        ("@a.b", ["a.b"]),
        ("@a.b.", ["a.b"]),
        ("@a.b.c", []),
        ("@ken-li", ["ken-li"]),
        ("@ken thompson-li", ["ken"]),
        ("@o'neil's", ["o'neil"]),
        ("@alice @ken", ["alice", "ken"]),
        ("@alice,@ken", ["alice", "ken"]),
        ("@alice:@ken", ["alice", "ken"]),
        ("@bookwyrm.social", ["bookwyrm.social"]),
        ("@ken.你好", ["ken"]),
        ("问@小明.", ["小明"]),
        ("＠小明さん", ["小明"]),
        ("#tag @ken", ["ken"]),
        (".@ken", ["ken"]),
        ("\n@ken", ["ken"]),
        ("@ken\n.x", ["ken"]),
    ],
)
def test_a_mention_is_a_whole_name_of_this_site(text: str, names: list[str]) -> None:
    assert find("mention", text) == names


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#ハリー・ポッター", ["ハリー・ポッター"]),
        ("testing #ぼっち・ざ・ろっく!", ["ぼっち・ざ・ろっく"]),
        ("#ﾊﾘｰ･ﾎﾟｯﾀｰ", ["ハリー・ポッター"]),
        ("#one·two·three", ["one·two·three"]),
        ("#one·two·three·", ["one·two·three"]),
        ("#·one", []),
        ("#・ポッター", []),
        ("#ポッター・", ["ポッター"]),
        ("#ポッター・、", ["ポッター"]),
        ("#young-adult", ["young-adult"]),
        ("#Sci-Fi, #sci‑fi and #SCI‐FI", ["sci-fi"]),
        ("#to--read", ["to--read"]),
        ("#young-", ["young"]),
        ("#young - adult", ["young"]),
        ("#young–adult", ["young"]),
        ("#-young", []),
        ("#20th-century", ["20th-century"]),
        ("#1984-2024", []),
        ("#col·lecció", ["col·lecció"]),
        ("#צה״ל #בן־גוריון", ["צה״ל", "בן־גוריון"]),
        ("#བོད་ཡིག", ["བོད་ཡིག"]),
        ("#आत्मकथा-हिंदी", ["आत्मकथा-हिंदी"]),
        ("#3d #l33ts35k #world2016", ["3d", "l33ts35k", "world2016"]),
        ("#_test #test_ #one_two", ["_test", "test_", "one_two"]),
        ("#0123456", []),
        ("#ａｅｓｔｈｅｔｉｃ ＃ｆｏｏ", ["aesthetic", "foo"]),
        ("test\u00a0#foo", ["foo"]),
        ("toß #ruby", ["ruby"]),
        ("wiki/Ghosts?foo=#Lawsuit", []),
        ("https://gcc.gnu.org/bug.cgi?id=1#c4", []),
        ("https://example.org/testé#foo", []),
        ("https://en.wikipedia.org/wiki/Oracle,_Inc.#Decision", []),
        ("#tag.", ["tag"]),
        ("#tag's", ["tag"]),
        ("#caf\u0065\u0301-noir", ["café-noir"]),
    ],
)
def test_a_hashtag_has_signs_between_words_and_none_at_its_ends(text: str, tags: list[str]) -> None:
    assert find_hashtags(text) == tags


WIKI = "https://ja.wikipedia.org/wiki/"


@pytest.mark.parametrize(
    ("text", "url"),
    [
        (f"{WIKI}ハリー・ポッター", f"{WIKI}ハリー・ポッター"),
        (f"見て {WIKI}ハリー・ポッター だよ", f"{WIKI}ハリー・ポッター"),
        (f"{WIKI}ハリー・ポッター。", f"{WIKI}ハリー・ポッター"),
        (f"「{WIKI}ハリー・ポッター」を読む", f"{WIKI}ハリー・ポッター"),
        (f"（{WIKI}C言語）", f"{WIKI}C言語"),
        (f"{WIKI}ノルウェイの森#映画", f"{WIKI}ノルウェイの森#映画"),
        ("https://zh.wikipedia.org/wiki/红楼梦，很好", "https://zh.wikipedia.org/wiki/红楼梦"),
        ("https://ko.wikipedia.org/wiki/한강_(작가)", "https://ko.wikipedia.org/wiki/한강_(작가)"),
        ("https://ru.wikipedia.org/wiki/Война_и_мир!", "https://ru.wikipedia.org/wiki/Война_и_мир"),
        ("https://hi.wikipedia.org/wiki/हिन्दी", "https://hi.wikipedia.org/wiki/हिन्दी"),
        ("https://fa.wikipedia.org/wiki/نیم\u200cفاصله", "https://fa.wikipedia.org/wiki/نیم\u200cفاصله"),
        ("https://en.wikipedia.org/wiki/Schindler’s_List", "https://en.wikipedia.org/wiki/Schindler’s_List"),
        ("https://en.wikipedia.org/wiki/1914–18", "https://en.wikipedia.org/wiki/1914–18"),
        ("https://en.wikipedia.org/wiki/Salt – a book", "https://en.wikipedia.org/wiki/Salt"),
        ("https://example.com/a–", "https://example.com/a"),
        ("https://example.com/?q=ハリー・ポッター&page=2", "https://example.com/?q=ハリー・ポッター&page=2"),
        ("“https://example.com/a”", "https://example.com/a"),
        ("«https://example.com/a»", "https://example.com/a"),
        ("(https://en.wikipedia.org/wiki/Salt_(film))", "https://en.wikipedia.org/wiki/Salt_(film)"),
        ("URLはhttps://example.comです", "https://example.com"),
        ("https://example.com/a、https", "https://example.com/a"),
    ],
)
def test_a_link_has_the_whole_path_in_any_script(text: str, url: str) -> None:
    [token] = [token for token in tokenise(text, NAMES.__contains__) if token.kind == "link"]
    assert token.text == url


def test_the_target_of_a_link_is_encoded_and_its_text_is_not() -> None:
    encoded = "%E3%83%8F%E3%83%AA%E3%83%BC%E3%83%BB%E3%83%9D%E3%83%83%E3%82%BF%E3%83%BC"
    assert to_html(f"{WIKI}ハリー・ポッター") == (
        f'<a href="{WIKI}{encoded}" rel="nofollow noopener ugc">{WIKI}ハリー・ポッター</a>'
    )


def test_a_hashtag_links_to_the_page_of_the_whole_tag() -> None:
    assert to_html("#young-adult") == '<a href="/tags/young-adult/">#young-adult</a>'
    assert to_html("@nsa.gov @alice@bookwyrm.social", NAMES) == "@nsa.gov @alice@bookwyrm.social"
