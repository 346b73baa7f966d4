"""Measure the quality and the cost of the search.

Usage: ``python -m tests.bench.search [--data DIR] [--step N] [--sql N] [--books N]``. The first part searches the real
catalogue for every title, with and without its series, exactly and with one Damerau-Levenshtein edit, and for every
author; Redis answers every --step th query and SQL every --sql th. The second part writes --books invented books
directly to Redis, with the distribution of words, authors, tags and popularity of the real ones and the same rate of
new words. It measures the slowest command of a search and the memory.
"""

import argparse
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Final

from redis import Redis

from demo import environment
from tests.support.real_data import GOODBOOKS
from tests.support.servers import temporary_folder
from tests.support.servers.redis import RedisServer

QUERIES: Final = 300  # queries for invented books
TARGETS: Final = {"titles": 0.99, "titles with a mistake": 0.95, "authors first": 1.0}


def main() -> int:
    """Parse, measure, print. Exit 1 when a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.search")
    parser.add_argument("--data", type=Path, default=GOODBOOKS, help="a folder in goodbooks format")
    parser.add_argument(
        "--step", type=int, default=1, help="ask Redis for each of so many titles (1); 0: invented books alone"
    )
    parser.add_argument("--sql", type=int, default=1, help="ask SQL for each of so many titles (1)")
    parser.add_argument("--books", type=int, default=100_000, help="invented books (100,000)")
    options = parser.parse_args()
    folder = temporary_folder()
    os.environ["DATABASE_URL"] = f"sqlite:///{folder / 'bench.sqlite3'}"
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    os.environ["REDIS_PREFIX"] = ""
    os.environ.update(environment.generate_environment("http://127.0.0.1"))
    with RedisServer() as server:
        os.environ.update(server.environment())
        import django

        django.setup()
        is_met = _measure_real(options.data, options.step, options.sql)
        _measure_invented(options.books)
    return 0 if is_met else 1


def _measure_real(data: Path, step: int, sql_step: int) -> bool:
    from django.core.management import call_command

    from catalog.search.models import Posting, Term
    from mirror.relay.sql_only import sql_only
    from tests.support.search.queries import MIRRORS, warm_search
    from tests.support.warm_mirrors import rebuild

    call_command("migrate", verbosity=0)
    rebuild(MIRRORS)
    call_command("import_goodbooks", str(data), "--books-only", stdout=sys.stderr)
    if not step:
        return True
    began = time.process_time()
    warm_search()
    print(f"indexed in {time.process_time() - began:.0f} s of CPU: {Term.objects.count():,} words, "
          f"{Posting.objects.count():,} entries")  # fmt: skip
    engines: list[tuple[str, int, Callable[[], AbstractContextManager[object]]]] = [
        ("Redis", step, nullcontext),
        ("SQL", sql_step, sql_only),
    ]
    is_met = True
    for engine, every, only in engines:
        with only():
            for what, size, rate, milliseconds in _ask_real(every):
                target = TARGETS.get(what.partition(",")[0], 0.0)
                is_met &= rate >= target
                print(
                    f"{engine}: {what}: {rate:.2%} of {size:,} (target {target:.0%}), {milliseconds:.1f} ms of CPU each"
                )
    return is_met


def _ask_real(every: int) -> Iterator[tuple[str, int, float, float]]:
    from catalog.search.words import split_title_names
    from tests.support.search.queries import all_authors, all_titles, count_first_authors, count_found, mistype

    chance = random.Random(2026)
    titles, authors = all_titles()[::every], all_authors()[::every]
    bare = [(pk, [*split_title_names(title), title][1] or title) for pk, title in titles]
    asked: list[tuple[str, Sequence[tuple[int, str]], Callable[[Any], int]]] = [
        ("titles", titles, count_found),
        ("titles with a mistake", [(pk, mistype(title, chance)) for pk, title in titles], count_found),
        ("titles, without series", bare, count_found),
        ("titles with a mistake, without series", [(pk, mistype(title, chance)) for pk, title in bare], count_found),
        ("authors first", authors, count_first_authors),
    ]
    for what, queries, count in asked:
        began = time.process_time()
        found = count(queries)
        yield what, len(queries), found / len(queries), 1000 * (time.process_time() - began) / len(queries)


class _Invented:
    """An endless supply of books that resemble the real ones."""

    def __init__(self) -> None:
        from catalog.models import Book
        from catalog.search.words import split_words

        books = Book.objects.prefetch_related("authors", "tags")
        self.books = [
            (split_words(b.title), [a.name for a in b.authors.all()], [t.name for t in b.tags.all()], b.popularity)
            for b in books
        ]
        self.words = [word for title, *_ in self.books for word in title]
        once = sum(count == 1 for count in Counter(self.words).values())
        self.new = once / len(self.words)  # the Good-Turing estimate of the probability that the next word is new
        self.chance = random.Random(2026)

    def make(self, pk: int) -> tuple[str, Any]:
        """Return the title and the document of one more book."""
        from catalog.search import entries, store, words

        pick = self.chance.choice
        title = " ".join(self._word() for _ in pick(self.books)[0])
        names = [" ".join([*pick(pick(self.books)[1] or ["x"]).split()[:1], self._word()]) for _ in pick(self.books)[1]]
        on = [*entries.build_word_keys("b", words.extract_terms(title).union(*map(words.extract_terms, names)))]
        on += [
            *entries.build_name_keys([title]),
            *entries.build_word_keys("g", filter(None, map(words.join_words, pick(self.books)[2]))),
        ]
        return title, store.build_document(f"b{pk}", "", pick(self.books)[3], on)

    def _word(self) -> str:
        word = self.chance.choice(self.words)
        if self.chance.random() >= self.new:
            return word
        other = self.chance.choice(self.words)
        return word[: len(word) // 2 + 1] + other[len(other) // 2 :]


def _measure_invented(count: int) -> None:
    from mirror.redis.clients import relay_client
    from tests.support.search.queries import mistype

    invented, redis = _Invented(), relay_client()
    for key in redis.scan_iter("search:*", count=10_000):
        redis.unlink(key)
    before = redis.info("memory")["used_memory"]
    titles = list(_write(invented, redis, count))
    memory = redis.info("memory")["used_memory"] - before
    queries = [
        mistype(title, invented.chance) if n % 2 else title for n, title in enumerate(titles[:: count // QUERIES])
    ]
    redis.config_set("slowlog-log-slower-than", 0)
    times = [microseconds for query in queries for microseconds in _time(redis, query)]
    print(f"{count:,} invented books: {memory / 1e6:,.0f} MB in Redis, {memory / count:,.0f} bytes a book")
    print(f"{len(times) / len(queries):.0f} commands a search, {sum(times) / len(queries):.0f} us of Redis; "
          f"the slowest command {max(times)} us")  # fmt: skip


def _time(redis: Redis, query: str) -> list[int]:
    """Return the microseconds of each command of a search, the best of three runs."""
    from catalog.search.corrections import parse_query
    from catalog.search.finding import find_candidates

    runs = []
    for _ in range(3):
        redis.slowlog_reset()
        find_candidates(parse_query(query))
        own = [entry for entry in redis.slowlog_get(1000) if entry["command"].split()[0] in (b"ZRANGE", b"MGET")]
        runs.append([entry["duration"] for entry in own])
    return [min(each) for each in zip(*runs, strict=True)]


def _write(invented: _Invented, redis: Redis, count: int) -> Iterator[str]:
    """Write the records and lists of ``count`` books and of their words, and yield the titles."""
    import orjson

    from catalog import keys
    from catalog.search import entries, store
    from catalog.search.mirrors import build_entries
    from mirror.comparison import plan

    weights: dict[str, int] = {}

    def send(rows: Sequence[Any], key: Callable[[str], str]) -> None:
        pipe = redis.pipeline(transaction=False)
        for command in plan.commands([], build_entries(entry for row in rows for entry in row.entries)):
            pipe.execute_command(*command)
        pipe.mset({key(row[0]): orjson.dumps(row._asdict()) for row in rows})
        pipe.execute()

    for start in range(0, count, 500):
        made = [invented.make(pk) for pk in range(start + 1, min(start + 500, count) + 1)]
        for _, document in made:
            for on in document.keys:
                if (term := entries.parse_term(on)) is not None:
                    weights[term] = max(weights.get(term, 0), document.weight)
        send([document for _, document in made], keys.search_document)
        yield from (title for title, _ in made)
    words = [store.TermRecord(term, weight) for term, weight in weights.items()]
    for start in range(0, len(words), 500):
        send(words[start : start + 500], keys.search_term)
    print(f"{len(words):,} words")


if __name__ == "__main__":
    sys.exit(main())
