"""The arithmetic of ``make scale`` on small numbers."""

from dataclasses import astuple

import pytest

from tests.bench.scale.__main__ import render
from tests.bench.scale.families import Activity, Growth, grow
from tests.bench.scale.measure import Families
from tests.bench.scale.place import SAMPLE, Curve, Load, UnknownFamily, find_node, name_key, place

FLAT = Curve(((1.0, 100.0),))
FEW = {
    "book:<book_id>": Growth(1000, 1, None, "book:<book_id>"),
    "{tag}:<name>": Growth(50, Activity(8, 3), Activity(8, 3), "{tag}:<name>"),
    "login:": Growth(1, 700, None, "login:"),
}
CURVES = {
    "book:<book_id>": FLAT,
    "{tag}:<name>": Curve(((2.0, 80.0), (8.0, 140.0))),
    "login:": Curve(((1, 50.0), (1000, 9000.0))),
}
LOADS = {"book:<book_id>": Load(90, 900), "{tag}:<name>": Load(10, 500)}


def test_nodes_add_up_to_the_families_and_the_hottest_is_above_the_mean() -> None:
    placed = place(FEW, FEW, CURVES, LOADS, nodes=3)
    by_node, by_family = (
        list(map(sum, zip(*map(astuple, sums), strict=True))) for sums in (placed.nodes, placed.families.values())
    )
    assert by_node == pytest.approx(by_family)
    assert astuple(placed.sum_up()) == pytest.approx(by_family)
    assert by_family[0] == 1051
    assert all(node.keys > 250 for node in placed.nodes)
    assert by_family[2:] == pytest.approx([100, 1400])
    assert placed.families["book:<book_id>"].size == 100_000
    assert placed.nodes[placed.hottest].micros >= 1400 / 3


def test_keys_with_a_constant_hash_tag_are_on_one_node() -> None:
    placed = place(FEW, FEW, CURVES, LOADS, nodes=5)
    [tags] = [each for each in placed.singles if each.name.startswith("{tag}")]
    assert tags.members == 50
    assert tags.load == pytest.approx(Load(10, 500))
    assert tags.node == find_node("{tag}:anything", 5)
    [login] = [each for each in placed.singles if each.name == "login:"]
    assert login.size == pytest.approx(50 + (9000 - 50) * 699 / 999)


def test_a_sample_stands_for_all_keys() -> None:
    many = {"book:<book_id>": Growth(7 * SAMPLE, Activity(8, 3), None, "book:<book_id>")}
    placed = place(many, many, CURVES, {}, nodes=2)
    books = placed.families["book:<book_id>"]
    assert (books.keys, books.size) == pytest.approx((7 * SAMPLE, 700 * SAMPLE))
    assert placed == place(many, many, CURVES, {}, nodes=2)


def test_curve_is_a_line_between_points_and_in_proportion_beyond() -> None:
    curve = Curve(((2.0, 80.0), (8.0, 140.0)))
    assert [curve.at(members) for members in (1, 2, 5, 8, 80)] == pytest.approx([80, 80, 110, 140, 1400])


def test_nodes_have_equal_ranges_of_real_slots() -> None:
    assert find_node("123456789", 3) == 2  # slot 12739, the example of the cluster specification
    assert find_node("{123456789}:x", 16_384) == 12_739


def test_tables_fit_a_hundred_columns() -> None:
    placed = place(FEW, FEW, CURVES, LOADS, nodes=3)
    lines = render(100_000_000, placed).splitlines()
    assert max(map(len, lines)) <= 100
    assert [line for line in lines if line.startswith(f"{placed.hottest} (hottest)")]
    assert any(line.startswith("{tag}:<name> (all)") for line in lines)


def test_names_have_the_form_of_the_site() -> None:
    assert name_key("uid:{<user_id>}:posts", 7) == "uid:{7}:posts"
    assert len(name_key("session:<digest>", 7)) == len("session:") + 64


@pytest.mark.only_on("single")  # it looks at the marks or keys of one Redis by name
def test_every_documented_family_grows_and_others_are_refused() -> None:
    families = Families()
    assert grow(1000).keys() == families.kinds.keys()
    assert families.find("login:ada:id") == "login:<name>:id"
    assert families.find("login:") == "login:"
    with pytest.raises(UnknownFamily, match="nobody"):
        families.find("nobody:7")
    with pytest.raises(UnknownFamily, match="login:"):
        place(FEW, {"book:<book_id>": "", "{tag}:<name>": ""}, CURVES, LOADS, nodes=3)
