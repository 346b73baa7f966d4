"""Comparable words: without case, marks, apostrophes and articles, in any script."""

import pytest

from catalog.search import entries, words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("García MÁRQUEZ", ("garcia", "marquez")),
        ("Ender's Game", ("enders", "game")),
        ("J.R.R. Tolkien", ("jrr", "tolkien")),
        ("Catch-22", ("catch", "22")),
        ("Łódź, Ærø, Straße", ("lodz", "aero", "strasse")),
        ("المَلِك أحمد", ("الملك", "احمد")),
        ("三体", ("三体",)),
        ("雨夜书店", ("雨夜", "夜书", "书店")),
        ("Ｆｕｌｌ　１９８４", ("full", "1984")),
        ("हिन्दी", ("हिनदी",)),
        ("— …", ()),
    ],
)
def test_texts_are_split_into_words(text: str, found: tuple[str, ...]) -> None:
    assert words.split_words(text) == found


def test_articles_are_left_out_unless_all_words_are_articles() -> None:
    assert words.extract_terms("The Lord of the Rings") == {"lord", "of", "rings", "ring"}
    assert words.extract_terms("The The") == {"the"}
    assert words.join_words("A Game of Thrones") == "gameofthrones"
    assert words.join_words("A Game of Thrones", articles=True) == "agameofthrones"


@pytest.mark.parametrize("mistyped", ["tolkein", "olkien", "tolkienn", "talkien", "tolkie"])
def test_a_word_shares_a_list_with_each_word_one_mistake_away(mistyped: str) -> None:
    assert set(entries.build_near_keys(mistyped)) & entries.build_term_keys("tolkien")


def test_a_long_word_shares_a_list_with_words_two_mistakes_away() -> None:
    for mistyped in ("dostoievski", "dstoyevskii", "dostoyvesky", "odstoyevsyk"):
        assert set(entries.build_near_keys(mistyped)) & entries.build_term_keys("dostoyevsky")


def test_a_name_with_one_mistake_has_one_half_right() -> None:
    name = "hungergames"
    for n in range(len(name)):
        for other in (name[:n] + name[n + 1 :], name[:n] + "x" + name[n:], name[:n] + "x" + name[n + 1 :]):
            asked = {
                key
                for length in range(len(other) - 1, len(other) + 2)
                for key in entries.build_half_keys(other, length)
            }
            assert asked & set(entries.build_half_keys(name)), other
