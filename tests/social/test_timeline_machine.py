"""A state machine of readers that post, follow, block, hide, delete, leave and return in any order and by any means.

The work that updates timelines may be late, repeated, lost, killed between any two steps, or paused while others go on.
After a reader's own request, the reader's pages equal SQL. At rest the pages of all readers equal SQL to their ends:
warm, cold, and without Redis. Every warm window is exact down to its floor, and verify finds no difference.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from functools import partial
from typing import Any, Final

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from accounts.models import User
from catalog.models import Book
from catalog.shelves.services import rate_book
from mirror.models import Change
from mirror.redis import naming
from mirror.redis.clients import breaker, relay_client
from mirror.relay import drains, hints
from mirror.upkeep import rebuild, sweeper
from mirror.windows import push, window
from social import bulk, selectors
from social.models import Block, Follow, Hashtag, Like, Mention, Mute, Post, new_key
from social.reviews import services as reviews
from social.services import likes, people, posts
from social.timelines import pulling
from tests.social import small_town
from tests.social import timeline_parity as parity
from tests.social.crash_points import at_point
from tests.social.small_town import Visitor
from tests.support import state_machines
from tests.support.killed import Killed, kill
from tests.support.servers.cluster import open_state
from tests.support.social import town
from tests.support.social.naive import facts

pytestmark = pytest.mark.also_on("sqlite")

PEOPLE: Final = 5
SAID: Final = 2 * small_town.WINDOW
TAGS: Final = ("tea", "rain")
TODAY: Final = date(2026, 5, 4)
Action = tuple[str, int, int]
ACTIONS: Final[dict[str, Callable[..., None]]] = {}


def action(does: Callable[["Town", int, int], None]) -> Callable[["Town", int, int], None]:
    """Register an action of readers, programs or accidents. Two numbers choose its objects."""
    ACTIONS[does.__name__] = does
    return does


def pick(rows: list[Any], number: int) -> Any:
    return rows[number % len(rows)] if rows else None


def on_their_way(me: int) -> set[int]:
    """Return posts by others whose fan-out is under way, so that the timeline may or may not have them."""
    found = Change.objects.pending().filter(mirror="timeline", source="social_post").exclude(cursor=None)
    posts = (key.split(":") for key in found.values_list("key", flat=True))
    return {int(pk) for pk, author in posts if int(author) != me}


class Town(RuleBasedStateMachine):
    """The state machine: one database, one Redis and all readers."""

    @initialize(
        hints_work=st.booleans(),
        strangers=st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12),
        hidden=st.sets(st.integers(0, SAID - 1), max_size=5),
        away=st.sets(st.integers(0, 4)),
        habits=st.sets(st.deferred(lambda: st.sampled_from(sorted(ACTIONS))), max_size=8),
    )
    def begin(
        self, hints_work: bool, strangers: set[tuple[int, int]], hidden: set[int], away: set[int], habits: set[str]
    ) -> None:
        """Create readers, follows, posts and timelines.

        All readers follow each other except the pairs in ``strangers``; timelines of readers in ``away`` are cold.
        ``habits`` restricts the actions of a run (empty: all), so that rare combinations occur.
        """
        self.habits = sorted(habits or ACTIONS)
        self.redis = open_state()
        self.redis.flushall()
        small_town.delete_everything()
        breaker.reset()
        self.small = small_town.small_town()
        self.queued_tasks = self.small.__enter__()
        self.flush = hints.flush
        if not hints_work:
            hints.flush = lambda: None
        self.count, self.alone = 0, True
        self.visitors: dict[int, Visitor] = {}
        self.books = list(Book.objects.bulk_create(Book(title=f"Book {n}") for n in range(2)))
        made = User.objects.bulk_create(User(username=f"p{n}") for n in range(PEOPLE))
        pairs = [(a, b) for a in range(PEOPLE) for b in range(PEOPLE) if a != b and (a, b) not in strangers]
        Follow.objects.bulk_create(Follow(follower=made[a], followee=made[b]) for a, b in pairs)
        said = range(SAID)
        Post.objects.bulk_create(Post(user=made[n % 3], text=self.name(), is_hidden=n in hidden) for n in said)
        rebuild.rebuild(town.MIRRORS)
        push.push_all()
        drains.drain_all()
        for number in set(range(PEOPLE)) - away:
            assert window.warm(town.TIMELINE, str(made[number].pk))

    def teardown(self) -> None:
        hints.flush = self.flush
        try:
            self.rest()
            parity.check_everything(town.TIMELINE)
        finally:
            self.small.__exit__(None, None, None)
            Book.objects.all().delete()
            self.redis.close()

    def rest(self) -> None:
        """Run all periodic work until nothing is left to do."""
        breaker.reset()
        for lease in self.redis.scan_iter(naming.lease("*")):  # leases of killed processes expire in time
            self.redis.delete(lease)
        for _ in range(20):
            queued_tasks, self.queued_tasks[:] = self.queued_tasks[:], []
            for queued_task in queued_tasks:
                queued_task.run()
            sweeper.sweep()
            for name in town.MIRRORS:
                rebuild.rebuild_if_cold(name)
            if not (drains.drain_all() or push.push_all() or self.queued_tasks or Change.objects.pending().exists()):
                return
        raise AssertionError(f"it does not come to rest: {list(Change.objects.pending()[:9])}, {self.queued_tasks}")

    # --- actions, and interruptions

    numbers = st.integers(0, 7)
    actions = st.deferred(lambda: st.tuples(st.sampled_from(sorted(ACTIONS)), Town.numbers, Town.numbers))

    @rule(does=actions)
    def all_goes_well(self, does: Action) -> None:
        self.do(does)

    @rule(does=st.lists(actions, min_size=2, max_size=4))
    def much_happens(self, does: list[Action]) -> None:
        for one in does:
            self.do(one)

    @rule(does=actions, point=st.integers(0, 40))
    def the_process_dies(self, does: Action, point: int) -> None:
        self.alone = False
        try:
            with at_point(point, kill, in_transactions=True):
                self.do(does)
        except Killed:
            hints._due.__init__()  # type: ignore[misc]
            connection.rollback() if connection.in_atomic_block else None
        finally:
            self.alone = True

    @rule(does=actions, point=st.integers(0, 40), meanwhile=st.lists(actions, min_size=1, max_size=3))
    def others_go_on_while_it_stands_still(self, does: Action, point: int, meanwhile: list[Action]) -> None:
        def go_on() -> None:
            for one in meanwhile:
                self.do(one)

        self.alone = False
        try:
            with at_point(point, go_on, in_transactions=False):
                self.do(does)
        finally:
            self.alone = True

    @rule(does=st.lists(actions, max_size=3), then=actions)
    def it_is_rolled_back_to_a_savepoint(self, does: list[Action], then: Action) -> None:
        with suppress(IntegrityError), transaction.atomic():
            with transaction.atomic():
                self.in_sql(does)
                transaction.set_rollback(True)
            self.in_sql([then])

    @rule(does=st.lists(actions, max_size=3))
    def it_is_rolled_back(self, does: list[Action]) -> None:
        with transaction.atomic():
            self.in_sql(does)
            transaction.set_rollback(True)

    def in_sql(self, does: list[Action]) -> None:
        """Run the actions that only write SQL; the others refuse to run within a transaction."""
        self.alone = False
        for name, a, b in does:
            if (does_it := self.habit(name)).__name__ not in RUNS:
                with suppress(IntegrityError), transaction.atomic():
                    does_it(self, a, b)
        self.alone = True

    def do(self, does: Action) -> None:
        """Run an action unless SQL refuses it because of concurrent actions."""
        name, a, b = does
        with suppress(IntegrityError):
            self.habit(name)(self, a, b)

    def habit(self, name: str) -> Callable[..., None]:
        """Return the action that replaces ``name`` in this run."""
        return ACTIONS[self.habits[sorted(ACTIONS).index(name) % len(self.habits)]]

    # --- readers and objects

    def person(self, number: int) -> int:
        return int(pick(list(User.objects.order_by("pk").values_list("pk", flat=True)), number) or 0)

    def some_post(self, number: int) -> Post | None:
        """Return one of the newest posts; lower numbers choose newer ones."""
        found = list(Post.objects.order_by("-pk")[:30])
        return found[number * len(found) // 8] if found else None

    def name(self) -> str:
        self.count += 1
        return f"n{self.count}"

    def asks(self, me: int, for_what: Callable[[], object]) -> None:
        """Run a reader's request, and a second one that must show the result."""
        if connection.in_atomic_block:
            for_what()
            return
        visitor = self.visitors.setdefault(me, Visitor())
        changed = visitor.request(for_what)
        if changed and self.alone and User.objects.filter(pk=me, is_active=True).exists():
            seen = visitor.request(lambda: town.read_all_posts(lambda after: selectors.get_home_timeline(me, after)))
            there, late = [post["id"] for post in seen], on_their_way(me)
            wanted = [pk for pk in facts().home(me) if pk in there or pk not in late]
            assert there == wanted, f"the home page of {me} after a request of theirs"

    # --- posts

    @action
    def post(self, a: int, b: int) -> None:
        if me := self.person(a):
            book = pick(self.books, b).pk if b % 2 else None
            key = "again" if b == 4 else new_key()

            def say() -> bool:
                is_new = not Post.objects.filter(user_id=me, key=key).exists()
                posts.create_post(me, f"@p{b} says #{TAGS[b % 2]}", book_id=book, key=key)
                return is_new

            self.asks(me, say)

    @action
    def review(self, a: int, b: int) -> None:
        if me := self.person(a):
            draft = reviews.Draft(f"*{self.name()}* of #{TAGS[b % 2]} for @p{b}", 1 + b, "note" if b % 3 else "")
            self.asks(me, lambda: bool(reviews.write_review(me, pick(self.books, b).pk, draft, TODAY)))

    @action
    def rate(self, a: int, b: int) -> None:
        """Rate a book or take the rating back; every shelf is public here."""
        if me := self.person(a):
            book = pick(self.books, b).pk
            self.asks(me, lambda: rate_book(me, book, 1 + b if b % 4 else None, TODAY))

    @action
    def reply(self, a: int, b: int) -> None:
        if (me := self.person(a)) and (found := self.some_post(b)):
            with suppress(ValidationError):
                self.asks(me, lambda: bool(posts.create_post(me, self.name(), parent_id=found.pk)))

    @action
    def import_replies(self, a: int, b: int) -> None:
        authors = [who for n in range(b + 1) if (who := self.person(a + n))]
        parents = [self.some_post(n) for n in range(len(authors))]
        Post.objects.bulk_create(
            Post(user_id=who, text=self.name(), parent_id=to.pk, parent_author_id=to.user_id)
            for who, to in zip(authors, parents, strict=True)
            if to
        )

    @action
    def import_posts(self, a: int, b: int) -> None:
        now = Post._meta.get_field("created_at").get_default()
        authors = [self.person(n) for n in range(a, a + b + 1)]
        bulk.create_posts([bulk.NewPost(who, new_key(), self.name(), now, self.books[0].pk) for who in authors if who])

    @action
    def bulk_create(self, a: int, b: int) -> None:
        authors = [who for n in range(b + 1) if (who := self.person(a + n))]
        made = Post.objects.bulk_create(
            Post(user_id=who, text=self.name(), book=pick(self.books, b)) for who in authors
        )
        Hashtag.objects.bulk_create(Hashtag(post=post, name=TAGS[b % 2]) for post in made)
        Mention.objects.bulk_create(Mention(post=post, user_id=self.person(b), name="x") for post in made)

    @action
    def delete_post(self, a: int, b: int) -> None:
        if found := self.some_post(a):
            self.asks(found.user_id, lambda: posts.delete_post(found.pk, by=found.user_id))

    @action
    def delete_posts(self, a: int, b: int) -> None:
        Post.objects.filter(user_id=self.person(a), pk__gt=getattr(self.some_post(b), "pk", 0)).delete()

    @action
    def delete_by_raw_sql(self, a: int, b: int) -> None:
        if found := self.some_post(a):
            with connection.cursor() as cursor:
                for table in ("social_like", "social_mention", "social_hashtag", "reviews_review"):
                    cursor.execute(f"DELETE FROM {table} WHERE post_id = %s", [found.pk])
                cursor.execute("DELETE FROM social_post WHERE id = %s", [found.pk])

    @action
    def hide(self, a: int, b: int) -> None:
        if found := self.some_post(a):
            me = self.person(b)
            self.asks(me, lambda: posts.hide_post(found.pk))

    @action
    def unhide(self, a: int, b: int) -> None:
        found = pick(list(Post.objects.filter(is_hidden=True).order_by("pk")), a)
        if found:
            posts.unhide_post(found.pk)

    @action
    def hide_all_of(self, a: int, b: int) -> None:
        Post.objects.filter(user_id=self.person(a)).update(is_hidden=b % 3 > 0)

    @action
    def edit(self, a: int, b: int) -> None:
        if found := self.some_post(a):
            Post.objects.filter(pk=found.pk).update(text=self.name(), book=pick([None, *self.books], b))

    @action
    def mark(self, a: int, b: int) -> None:
        """Add or remove a mention or a hashtag."""
        if found := self.some_post(a):
            Mention.objects.filter(post=found).delete()
            Hashtag.objects.filter(post=found).delete()
            if b % 2:
                Mention.objects.create(post=found, user_id=self.person(b), name="y")
                Hashtag.objects.create(post=found, name=TAGS[b % 2])

    @action
    def like(self, a: int, b: int) -> None:
        if (me := self.person(a)) and (found := self.some_post(b)):
            with suppress(likes.NoSuchPost):
                self.asks(me, lambda: likes.like_post(me, found.pk))

    @action
    def unlike(self, a: int, b: int) -> None:
        if (me := self.person(a)) and (found := pick(list(Like.objects.filter(user_id=me).order_by("pk")), b)):
            self.asks(me, lambda: likes.unlike_post(me, found.post_id))

    @action
    def import_likes(self, a: int, b: int) -> None:
        wanted = [(self.person(a + n), self.some_post(n)) for n in range(b + 1)]
        made = [Like(user_id=me, post=post) for me, post in wanted if me and post]
        Like.objects.bulk_create(made, ignore_conflicts=True)

    # --- follows, blocks and mutes

    @action
    def follow(self, a: int, b: int) -> None:
        self.wants(people.follow, a, b)

    @action
    def unfollow(self, a: int, b: int) -> None:
        self.wants(people.unfollow, a, b)

    @action
    def block(self, a: int, b: int) -> None:
        self.wants(people.block, a, b)

    @action
    def unblock(self, a: int, b: int) -> None:
        self.wants(people.unblock, a, b)

    @action
    def mute(self, a: int, b: int) -> None:
        self.wants(people.mute, a, b)

    @action
    def unmute(self, a: int, b: int) -> None:
        self.wants(people.unmute, a, b)

    def wants(self, service: Callable[[int, int], bool], a: int, b: int) -> None:
        me, them = self.person(a), self.person(b)

        def unless_refused() -> bool:
            try:
                return service(me, them)
            except people.ActionRefused:
                return False

        if me:
            self.asks(me, unless_refused)

    @action
    def follow_in_bulk(self, a: int, b: int) -> None:
        pairs = {(self.person(a + n), self.person(b)) for n in range(3)}
        Follow.objects.bulk_create(
            (Follow(follower_id=x, followee_id=y) for x, y in pairs if x != y), ignore_conflicts=True
        )

    @action
    def unfollow_in_bulk(self, a: int, b: int) -> None:
        Follow.objects.filter(followee_id=self.person(a))._raw_delete("default")

    @action
    def shun_in_bulk(self, a: int, b: int) -> None:
        x, y = self.person(a), self.person(b)
        if x != y:
            Block.objects.bulk_create([Block(blocker_id=x, blocked_id=y)], ignore_conflicts=True)
            Mute.objects.bulk_create([Mute(user_id=y, muted_id=x)], ignore_conflicts=True)

    @action
    def shun_nobody(self, a: int, b: int) -> None:
        Block.objects.filter(blocker_id=self.person(a)).delete()
        Mute.objects.filter(muted_id=self.person(b))._raw_delete("default")

    # --- users

    @action
    def deactivate(self, a: int, b: int) -> None:
        User.objects.filter(pk=self.person(a)).update(is_active=False)

    @action
    def reactivate(self, a: int, b: int) -> None:
        if user := User.objects.filter(is_active=False).order_by("pk").first():
            user.is_active = True
            user.save()

    @action
    def rename(self, a: int, b: int) -> None:
        User.objects.filter(pk=self.person(a)).update(username=self.name())

    @action
    def leave_for_good(self, a: int, b: int) -> None:
        if User.objects.count() > 2:
            User.objects.get(pk=self.person(a)).delete()

    @action
    def arrive(self, a: int, b: int) -> None:
        if User.objects.count() < PEOPLE + 2:
            User.objects.create(username=self.name())

    @action
    def rename_book(self, a: int, b: int) -> None:
        Book.objects.filter(pk=pick(self.books, a).pk).update(title=self.name())

    # --- leaving and returning

    @action
    def go_away(self, a: int, b: int) -> None:
        window.cool(town.TIMELINE, [str(self.person(a))], relay_client())

    @action
    def come_back(self, a: int, b: int) -> None:
        if me := self.person(a):
            window.warm(town.TIMELINE, str(me))

    @action
    def look(self, a: int, b: int) -> None:
        """Read all pages of a reader; at any time none fails and none has duplicates."""
        if me := self.person(a):
            visitor = self.visitors.setdefault(me, Visitor())
            for page in parity.pages(me, facts(), self.person(b)).values():
                visitor.request(partial(town.read_all_posts, page))

    # --- periodic work, and accidents

    @action
    def relay_runs(self, a: int, b: int) -> None:
        drains.drain_all()

    @action
    def authors_are_turned_and_eased(self, a: int, b: int) -> None:
        pulling.advance_states()

    @action
    def sweep(self, a: int, b: int) -> None:
        sweeper.sweep()

    @action
    def run_a_queued_task(self, a: int, b: int) -> None:
        """Run a queued task in any order; odd numbers leave it in the queue to run again."""
        if self.queued_tasks:
            queued_task = (
                self.queued_tasks[a % len(self.queued_tasks)]
                if b % 2
                else self.queued_tasks.pop(a % len(self.queued_tasks))
            )
            queued_task.run()

    @action
    def lose_a_queued_task(self, a: int, b: int) -> None:
        if self.queued_tasks:
            self.queued_tasks.pop(a % len(self.queued_tasks))

    @action
    def empty_redis(self, a: int, b: int) -> None:
        if a == b:
            self.redis.flushall()


RUNS = {
    "relay_runs",
    "authors_are_turned_and_eased",
    "sweep",
    "run_a_queued_task",
    "lose_a_queued_task",
    "empty_redis",
    "look",
    "come_back",
    "go_away",
}
EXAMPLES = int(os.environ.get("TIMELINE_EXAMPLES", "8"))
STEPS = int(os.environ.get("TIMELINE_STEPS", "25"))


@pytest.mark.slow(40)
@pytest.mark.django_db(transaction=True)
def test_at_rest_all_pages_equal_sql() -> None:
    state_machines.run_machine(Town, examples=EXAMPLES, steps=STEPS)
