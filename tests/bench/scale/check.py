"""Compare the assumed activities with the real data sets, if they are there."""

import csv
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, Final

from tests.bench.scale.families import ACTIVITIES
from tests.support.real_data import COLLEGEMSG, FOLDER, GOODBOOKS

SHARES: Final = (0.5, 0.1, 0.01)  # the median, and the values that a tenth and a hundredth exceed


def render() -> str:
    """Return a table of assumed and real values, or a line that says why there is none."""
    if not FOLDER.is_dir():
        return "\nThe real data is not there: the assumed activities are not checked."
    lines = [f"\n{'assumed / real activity':<30}" + "".join(f"{f'exceeded by {share:.0%}':>20}" for share in SHARES)]
    for name, values in read_activities().items():
        cells = [f"{ACTIVITIES[name].at(share):,.0f} / {_exceeded(values, share):,}" for share in SHARES]
        lines.append(f"{name:<30}" + "".join(f"{cell:>20}" for cell in cells))
    return "\n".join(lines)


def read_activities() -> dict[str, list[int]]:
    """Return the values of all people, books or tags for each activity."""
    posts, days = Counter[str](), defaultdict[str, set[Any]](set)
    followers, followed = defaultdict[str, set[Any]](set), defaultdict[str, set[Any]](set)
    for line in COLLEGEMSG.read_text().splitlines():
        source, target, at = line.split()
        posts[source] += 1
        days[source].add(int(at) // 86_400)
        followers[source].add(target)
        followed[target].add(source)
    people = followers.keys() | followed.keys()
    sets = {"logins": days, "followers": followers, "followed": followed}
    return {
        "posts": [posts[person] for person in people],
        **{name: [len(found.get(person, ())) for person in people] for name, found in sets.items()},
        "bought": _count("ratings.csv", "user_id"),
        "wished": _count("to_read.csv", "user_id"),
        "readers of a book": _count("to_read.csv", "book_id"),
        "tagged": _count("book_tags.csv", "tag_id"),
    }


def _count(file: str, column: str) -> list[int]:
    with (GOODBOOKS / file).open(newline="", encoding="utf-8") as lines:
        return list(Counter(row[column] for row in csv.DictReader(lines)).values())


def _exceeded(values: Iterable[int], share: float) -> int:
    ordered = sorted(values, reverse=True)
    return ordered[int(share * len(ordered))]
