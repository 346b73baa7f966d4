"""System checks report each invalid declaration with a message and a hint, and never fail themselves."""

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.core.management.base import SystemCheckError
from django.db import connection, connections, models
from django.test.utils import isolate_apps
from pytest_django.fixtures import Settings

from mirror import After, EdgeMirror, Entry, Family, Mirror, Reached, SummaryMirror, Watch, WindowMirror, register
from mirror.capture import install
from mirror.checks import check_settings
from mirror.conf import setting
from mirror.doctor import examine
from mirror.redis.clients import client
from mirror.relay import signals
from tests.projects.mirrortest.models import Follow, Item
from tests.support.servers import RedisServer

pytestmark = [pytest.mark.usefixtures("own_registry"), pytest.mark.also_on("sqlite")]


class Sound(Mirror):
    """A valid declaration."""

    name = "sound"
    model = Follow
    watches = [Watch(Follow)]

    def record_key(self, pk: str) -> str:
        return f"{self.name}:{pk}"

    def load(self, pks: Sequence[str]) -> Mapping[str, Any]:
        return {}

    def record(self, row: Any) -> dict[str, Any]:
        return {}


def said(**kwargs: Any) -> list[CheckMessage]:
    """Return the messages of the mirror's checks."""
    return [m for m in run_checks(**kwargs) if m.id is not None and m.id.startswith("mirror.")]


def ids(**kwargs: Any) -> list[str]:
    messages = said(**kwargs)
    assert all(message.hint for message in messages)
    return [str(message.id) for message in messages]


def test_valid_declarations_give_no_message() -> None:
    register(Sound)
    assert said() == []


def test_unknown_mode_of_a_drain_is_reported_with_the_mirror(settings: Settings) -> None:
    class Later(Sound):
        name = "later"
        drain = "later"  # type: ignore[assignment]

    class Worker(Sound):
        name = "worker"
        drain = "worker"

    register(Later)
    register(Worker)
    (message,) = said()
    assert (message.id, message.obj) == ("mirror.E024", Later)
    assert "'later'" in message.msg
    assert message.hint == "The modes are inline, after_response, worker, relay."
    settings.MIRROR = {**settings.MIRROR, "DRAIN": "never"}
    assert [m.msg for m in said()][-1] == "MIRROR[\"DRAIN\"] is 'never', which is no mode."


def test_check_without_databases_sends_no_sql() -> None:
    """pytest-django forbids access to the database in tests without the mark."""
    call_command("check")


def declared(**attributes: Any) -> None:
    register(type("Bad", (Sound,), {"name": "bad", **attributes}))
    signals.connect()  # the work at start-up still succeeds


NO_OWNER = After("titem", "owner")  # type: ignore[arg-type]
AFTER = 'write a list of After("mirror", function from a key of its changes to the window\'s owner)'


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"name": ""}, "has no name"),
        ({"name": None}, "has no name"),
        ({"name": "titem"}, "is called 'titem', and so is ItemMirror"),
        ({"model": None}, "has no model"),
        ({"model": "app.Model"}, "has the text 'app.Model' as its model: give it the class"),
        ({"watches": []}, "has no watches"),
        ({"watches": None}, "has no watches"),
        ({"watches": ["mirrortest.Item"]}, "has 'mirrortest.Item' in watches: write Watch(model)"),
        ({"watches": [Watch(None)]}, "watches None, which is no model class"),  # type: ignore[arg-type]
        ({"watches": [], "load": Mirror.load}, "has neither fields nor watches"),
        ({"model": 7}, "has model = 7, which is no model class"),
        ({"version": None}, "has version = None: write an integer or a text"),
        ({"version": True}, "has version = True: write an integer or a text"),
        ({"after": ["site"]}, f"has 'site' in after: {AFTER}"),
        ({"after": After("titem", str)}, f"has after = {After('titem', str)!r}: {AFTER}"),
        ({"after": [NO_OWNER]}, f"has {NO_OWNER!r} in after: {AFTER}"),
        ({"record_class": "dict"}, "has record_class = 'dict': give it the class"),
        ({"buckets": "4"}, "has buckets = '4': write an integer of at least 1"),
    ],
)
def test_unusable_declaration_is_reported(attributes: dict[str, Any], words: str) -> None:
    declared(**attributes)
    [message] = said()
    assert message.id == "mirror.E001"
    assert message.msg.endswith(f"Bad {words}.")


def test_subclass_of_a_registered_mirror_needs_a_name_of_its_own() -> None:
    register(Sound)

    class Louder(Sound):
        pass

    class Loudest(Sound):
        name = "loudest"

    register(Louder)
    register(Loudest)
    [message] = said()
    assert message.msg.endswith("Louder extends Sound, which is registered: give it a name of its own.")
    with pytest.raises(LookupError, match="Louder extends Sound, which is registered: give it a name of its own"):
        Louder.get(1)


def test_reader_of_an_undecorated_declaration_says_so() -> None:
    class Louder(Sound):
        name = "louder"

    with pytest.raises(LookupError, match="Louder is not registered: decorate it"):
        Louder.get(1)


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("BATCH", "x", "an integer of at least 1"),
        ("CHUNK", 0, "an integer of at least 1"),
        ("VERIFY_PER_MINUTE", 1.5, "an integer of at least 0"),
        ("BUDGET_SECONDS", -1, "a number of at least 0"),
        ("KEEP_SECONDS", True, "a number of at least 0"),
        ("ALIAS", None, "text"),
        ("RELAY_ALIAS", 7, "None or text"),
        ("DOCTOR_CHECKS", "site.find_problems", "a list"),
        ("WORDS", [], "a dictionary"),
    ],
)
def test_setting_of_the_wrong_type_is_reported(name: str, value: object, wanted: str, settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, name: value}
    [message] = check_settings()
    assert (message.id, message.msg) == ("mirror.E053", f"MIRROR[{name!r}] is {value!r}, and has to be {wanted}.")
    assert [found.id for found in examine()] == ["mirror.E053"]


@pytest.mark.parametrize("value", [None, ["ALIAS"]])
def test_settings_that_are_no_dictionary_are_refused(value: object, settings: Settings) -> None:
    settings.MIRROR = value
    with pytest.raises(ImproperlyConfigured, match="MIRROR has to be a dictionary, and is "):
        setting("ALIAS")


@pytest.mark.parametrize(
    ("changes", "id_"),
    [({"ALIAS": "absent"}, "E032"), ({"RELAY_ALIAS": "pages"}, "E032"), ({"DATABASE": "absent"}, "E031")],
)
def test_plain_check_finds_aliases_with_which_every_reader_fails(
    changes: dict[str, str], id_: str, settings: Settings
) -> None:
    settings.CACHES = {**settings.CACHES, "pages": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    settings.MIRROR = {**settings.MIRROR, **changes}
    [message] = check_settings()
    assert message.id == f"mirror.{id_}"
    # No other check ends with an error instead of a message.
    assert message in run_checks()


def test_engine_that_changes_schemas_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections["default"], "set_tenant", print, raising=False)
    [message] = said()
    assert message.id == "mirror.E052"
    assert message.msg.startswith(f"The engine {connection.settings_dict['ENGINE']!r} changes schemas within a process")


def test_cache_alias_with_connections_of_another_class_is_named(settings: Settings, server: RedisServer) -> None:
    settings.CACHES = {
        **settings.CACHES,
        "plain": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": server.url(7)},  # pools are shared by URL
    }
    settings.MIRROR = {**settings.MIRROR, "ALIAS": "plain"}
    with pytest.raises(ImproperlyConfigured, match="'plain' has connections of another class"):
        client()


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("redis://localhost:1", {"CONNECTION_POOL_KWARGS": {"decode_responses": True}}),
        ("redis://localhost:1?decode_responses=False", {}),  # a text, which redis-py takes for true
    ],
)
def test_connections_that_decode_replies_are_refused(url: str, options: dict[str, Any], settings: Settings) -> None:
    classes = {
        "CONNECTION_POOL_CLASS": "mirror.redis.MirrorPool",
        "CONNECTION_FACTORY": "mirror.redis.PoolFactory",
    }
    cache = {"BACKEND": "django_redis.cache.RedisCache", "OPTIONS": {**classes, **options}}
    settings.CACHES = {**settings.CACHES, "texts": {**cache, "LOCATION": url}}
    settings.MIRROR = {**settings.MIRROR, "ALIAS": "texts"}
    [message] = said()
    assert message.id == "mirror.E051"
    assert "'texts'" in message.msg
    assert "Remove decode_responses" in str(message.hint)
    assert "mirror.E051" in [found.id for found in examine()]
    with pytest.raises(ImproperlyConfigured, match=r"'texts' decodes replies\. Remove decode_responses"):
        client()


def test_mirror_without_attributes_is_reported() -> None:
    register(type("Bad", (Mirror,), {}))
    assert ids() == ["mirror.E001"]


def test_name_longer_than_its_outbox_column_is_reported() -> None:
    declared(name="x" * 65)
    assert ids() == ["mirror.E002"]


@pytest.mark.parametrize(
    ("base", "lacking"),
    [
        (Mirror, "key, load(), record()"),
        (EdgeMirror, "load(), entries(), families()"),
        (SummaryMirror, "key, items()"),
    ],
)
def test_missing_methods_are_named(base: type[Mirror], lacking: str) -> None:
    register(type("Bad", (base,), {"name": "bad", "model": Item, "watches": [Watch(Item)]}))
    assert f"Mirror 'bad' does not define {lacking}." in [message.msg for message in said()]
    assert "mirror.E003" in ids()


def test_key_that_all_rows_share_is_reported() -> None:
    register(type("BadMirror", (Mirror,), {"model": Item, "key": "bad", "fields": ["name"]}))
    [message] = said()
    assert message.id == "mirror.E025"
    assert message.msg == "Mirror 'bad' has the same key for all rows: 'bad'."


@pytest.mark.parametrize("key", ["bad:{name}", "bad:{name}:{pk}"])
def test_key_with_a_field_is_reported(key: str) -> None:
    register(type("BadMirror", (Mirror,), {"model": Item, "key": key, "fields": ["name"]}))
    [message] = said()
    assert message.id == "mirror.E025"
    assert message.msg == f"The key {key!r} of mirror 'bad' contains 'name', which it cannot know."


def test_unknown_watched_column_is_reported() -> None:
    declared(watches=[Watch(Item, ("id", "group"))])
    [message] = said()
    assert message.id == "mirror.E004"
    assert "'mirrortest_item' has no column 'group'" in message.msg


@pytest.mark.parametrize(
    ("via", "words"),
    [
        ("items_of", "via is not callable"),
        (["items_of"], "via is not callable"),
        (lambda values: [], "via cannot be called with (values, after, limit): too many positional arguments"),
    ],
)
def test_via_must_be_callable_with_three_arguments(via: Any, words: str) -> None:
    declared(watches=[Watch(Item, via=via)])
    [message] = said()
    assert message.id == "mirror.E005"
    assert message.msg.endswith(f"{words}.")


def test_only_declarations_can_be_registered() -> None:
    with pytest.raises(TypeError, match=r"a class that extends mirror\.Mirror, and got <class '.*Item'>"):
        register(Item)  # type: ignore[type-var]


@pytest.mark.parametrize(
    ("attributes", "text", "hint"),
    [
        ({"index": ["x"]}, "has index = ['x'], and index is a method", "A list of indexes is called indexes."),
        (
            {"record": "name"},
            "has record = 'name', and record is a method",
            "Define a method, or rename the attribute.",
        ),
        ({"strict": "yes"}, "has strict = 'yes'", "Write True or False."),
        (
            {"where": models.Q(pk__gt=1)},
            "has where without fields, and its own load() does not apply it",
            "Leave the rows out in load(), and remove where.",
        ),
    ],
)
def test_attribute_without_effect_is_refused(attributes: dict[str, Any], text: str, hint: str) -> None:
    declared(**attributes)
    [message] = said()
    assert (message.id, message.msg, message.hint) == ("mirror.E001", f"Mirror 'bad' {text}.", hint)


def test_misspelled_attribute_is_reported_also_of_a_base_class() -> None:
    base = type("Base", (Sound,), {"name": "base", "indices": [], "_fields": [], "table": property(str)})
    register(type("Bad", (base,), {"name": "bad", "colours": 3}))
    [message] = said()
    assert message.id == "mirror.W048"
    assert message.msg == "Mirror 'bad' has indices, which the library does not use; did you mean 'indexes'?"


@pytest.mark.parametrize(
    ("watch", "words"),
    [
        (Watch(Item, only=("group",)), "has no column 'group'"),
        (Watch(Item, only="score"), "only is the text 'score'"),  # type: ignore[arg-type]
    ],
)
def test_columns_of_only_must_exist(watch: Watch, words: str) -> None:
    declared(watches=[watch])
    [message] = said()
    assert message.id == "mirror.E004"
    assert words in message.msg


def nowhere(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    return []


class Window(WindowMirror):
    """A valid window declaration."""

    name = "window"
    model = Item
    length = 5
    lazy = True
    watches = [Watch(Item), Watch(Item, ("id", "group_id"), pushed=True, only=("hidden",))]

    def record_key(self, pk: str) -> str:
        return f"window:{pk}"

    def newest(self, pks: Sequence[str], limit: int) -> Mapping[str, Sequence[int]]:
        return {}

    def reach(self, rows: Sequence[str], after: str | None, limit: int) -> list[Reached]:
        return []

    def sources(self, owner: str) -> tuple[str, str]:
        return "", ""

    def families(self) -> list[Family]:
        return [Family(self.record_key(""), "zset", lambda key, member: key.removeprefix(self.record_key("")))]


class Edge(EdgeMirror):
    """A valid edge declaration."""

    name = "edge"
    model = Follow
    watches = [Watch(Follow, ("follower", "followed"))]

    def load(self, pks: Sequence[str]) -> Mapping[str, Any]:
        return {}

    def entries(self, pk: str) -> Iterable[Entry]:
        return ()

    def families(self) -> list[Family]:
        return [Family("edge:", "set", lambda key, member: member)]


@pytest.mark.parametrize(
    "watch",
    [
        Watch(Item),
        Watch(Item, only=("score",)),
        Watch(Item, inserts=False),
        Watch(Item, whole=True, inserts=False, only=("score",)),
        Watch(Item, via=nowhere, inserts=False, only=("score",)),
    ],
)
def test_valid_watches_give_no_message(watch: Watch) -> None:
    declared(watches=[watch])
    register(Window)
    register(Edge)
    assert said() == []


@pytest.mark.parametrize(
    ("base", "watch", "words"),
    [
        (Sound, Watch(Item, "id", whole=True), "whole cannot be combined with columns"),
        (Sound, Watch(Item, whole=True, via=nowhere), "whole cannot be combined with via or pushed"),
        (Window, Watch(Item, whole=True, pushed=True), "whole cannot be combined with via or pushed"),
        (Edge, Watch(Item, whole=True), "whole does not apply to an EdgeMirror, whose key names both ends"),
    ],
)
def test_whole_excludes_other_sources_of_keys(base: type[Mirror], watch: Watch, words: str) -> None:
    register(type("Bad", (base,), {"name": "bad", "watches": [watch, *base.watches[:1]]}))
    [message] = said()
    assert message.id == "mirror.E017"
    assert message.msg.endswith(f"{words}.")


@pytest.mark.parametrize(
    ("base", "attributes", "words"),
    [
        (Sound, {}, "pushed requires a lazy WindowMirror"),
        (Window, {"lazy": False}, "pushed requires a lazy WindowMirror"),
        (Window, {"reach": WindowMirror.reach}, "pushed needs reach()"),
        (Window, {"sources": WindowMirror.sources}, "pushed needs sources()"),
        (
            Window,
            {"watches": [Watch(Item), Watch(Item, via=nowhere, pushed=True)]},
            "pushed cannot be combined with via",
        ),
    ],
)
def test_pushed_rows_need_a_lazy_window_that_implements_reach_and_sources(
    base: type[Mirror], attributes: dict[str, Any], words: str
) -> None:
    watches = [*base.watches[:1], Watch(Item, ("id", "group_id"), pushed=True)]
    register(type("Bad", (base,), {"name": "bad", "watches": watches, **attributes}))
    [message] = said()
    assert message.id == "mirror.E018"
    assert message.msg.endswith(f"{words}.")


def test_table_with_two_different_lookups_is_reported() -> None:
    declared(watches=[Watch(Item, "group_id", via=nowhere), Watch(Item, via=lambda values, after, limit: [])])
    [message] = said()
    assert message.id == "mirror.E019"
    assert "several watches with different lookups on 'mirrortest_item'" in message.msg
    declared(name="fine", watches=[Watch(Follow, "follower", via=nowhere), Watch(Follow, "followed", via=nowhere)])
    assert ids() == ["mirror.E019"]


def after(*names: str) -> tuple[After, ...]:
    return tuple(After(name, lambda key: key) for name in names)


def test_unknown_mirror_in_after_is_reported() -> None:
    register(type("Bad", (Window,), {"name": "bad", "after": after("titem", "nobody")}))
    [message] = said()
    assert message.id == "mirror.E020"
    assert "'bad' comes after 'nobody'" in message.msg


def test_circular_after_is_reported() -> None:
    def families(self: Mirror) -> list[Family]:
        return [Family(self.record_key(""), "zset", lambda key, member: member)]

    for name, others in {"a": ("c",), "b": ("a",), "c": ("b", "titem"), "d": ("c",), "e": ("e",)}.items():
        key = {"record_key": lambda self, pk: f"w{self.name}:{pk}", "families": families}
        register(type(name, (Window,), {"name": name, "after": after(*others), **key}))
    assert [message.msg for message in said()] == [f"Mirror {name!r} comes after itself." for name in "abce"]
    assert set(ids()) == {"mirror.E021"}


def test_key_columns_must_be_integers_text_or_uuids() -> None:
    with isolate_apps("tests.projects.mirrortest"):

        class Day(models.Model):  # noqa: DJ008
            day = models.DateField(primary_key=True)

            class Meta:
                app_label = "mirrortest"

        class Child(models.Model):  # noqa: DJ008
            parent = models.ForeignKey(Day, models.CASCADE)
            item = models.ForeignKey(Item, models.CASCADE)
            slug = models.SlugField()

            class Meta:
                app_label = "mirrortest"

    declared(watches=[Watch(Child, "slug"), Watch(Child, "item_id"), Watch(Child, "parent_id")])
    [message] = said()
    assert message.id == "mirror.E006"
    assert "'parent_id'" in message.msg


def test_the_columns_of_an_edge_can_be_told_apart_in_its_key() -> None:
    with isolate_apps("tests.projects.mirrortest"):

        class Link(models.Model):  # noqa: DJ008
            source = models.TextField()
            target = models.TextField()
            kind = models.TextField(choices=[("a", "A")])

            class Meta:
                app_label = "mirrortest"

    register(type("Links", (Edge,), {"watches": [Watch(Link, ("source", "kind"))]}))
    [message] = said()
    assert message.id == "mirror.E006"
    assert "values of 'source' may contain \":\"" in message.msg


def entries(self: Mirror, record: Any) -> Iterable[Entry]:
    return ()


def misspelt(self: Mirror) -> list[Family]:
    return [Family("bad:members:", "sorted", lambda key, member: member)]  # type: ignore[arg-type]


def everything(self: Mirror) -> list[Family]:
    return [Family("", "set", lambda key, member: member)]


def broken(self: Mirror) -> list[Family]:
    raise ZeroDivisionError


@pytest.mark.parametrize(
    "methods",
    [
        {"index": entries},
        {"families": everything},
        {"families": misspelt},
        {"families": broken},
        {"families": lambda self: ["bad:"]},
    ],
    ids=["none", "all", "unknown kind", "raises", "no family"],
)
def test_index_must_match_its_families(methods: dict[str, Callable[..., Any]]) -> None:
    declared(**methods)
    assert ids() == ["mirror.E007"]


@pytest.mark.parametrize("start", ["titem:", "titems:score", "titems:latest", "tuid:{"])
def test_two_mirrors_cannot_own_the_same_keys(start: str) -> None:

    declared(families=lambda self: [Family(start, "set", lambda key, member: member)])
    [message] = said()
    assert message.id == "mirror.E008"
    assert repr(start) in message.msg


def test_a_mirror_cannot_own_keys_of_the_library() -> None:
    declared(families=lambda self: [Family("mirror:", "set", lambda key, member: member)])
    [message] = said()
    assert message.id == "mirror.E008"
    assert "the library's own keys, such as 'mirror:clock'" in message.msg


@pytest.mark.parametrize("start", ["titem:na", "tuid:{1}:follow"])
def test_two_mirrors_cannot_own_overlapping_keys(start: str) -> None:
    declared(families=lambda self: [Family(start, "set", lambda key, member: member)])
    [message] = said()
    assert message.id == "mirror.E008"
    assert ": bad, t" in message.msg


def test_keys_between_those_of_numbered_records_belong_to_another_mirror() -> None:
    declared(families=lambda self: [Family("titem:popular:", "set", lambda key, member: member)])
    assert said() == []


@pytest.mark.parametrize("text", ["{shop1}:", "shop1}", 7])
def test_prefix_must_be_text_without_braces(text: object, settings: Settings) -> None:
    settings.MIRROR = settings.MIRROR | {"PREFIX": text}
    assert ids() == ["mirror.E023"]


def test_database_vendor_without_capture_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "vendor", "oracle")
    assert ids() == ["mirror.E009"]


@pytest.mark.django_db
def test_correct_database_gives_no_message() -> None:
    assert said(databases=["default"]) == []


@pytest.mark.django_db
def test_missing_triggers_are_reported_until_they_are_installed() -> None:
    install.uninstall()
    [message] = said(databases=["default"])
    assert message.id == "mirror.E010"
    assert re.search(r": (\w+: missing triggers; ){5}and \d+ more tables\.$", message.msg)
    with pytest.raises(SystemCheckError, match=r"mirror\.E010"):
        call_command("check", databases=["default"])
    install.install()
    assert said(databases=["default"]) == []


@pytest.mark.django_db(transaction=True)
def test_missing_triggers_do_not_stop_migrate(monkeypatch: pytest.MonkeyPatch) -> None:
    install.uninstall()
    monkeypatch.setattr(sys, "argv", ["manage.py", "migrate"])
    call_command("migrate", skip_checks=False, verbosity=0)
    assert install.missing() == []


@pytest.mark.django_db
def test_invalid_declarations_stop_migrate_with_a_message() -> None:
    declared(watches=[Watch(Item, "nonsense")])
    with pytest.raises(CommandError, match=r"mirror\.E004"):
        call_command("migrate", skip_checks=False, verbosity=0)


@pytest.mark.only_on("sqlite")
@pytest.mark.django_db
def test_recursive_triggers_must_be_on_in_sqlite() -> None:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA recursive_triggers = OFF")
        try:
            assert ids(databases=["default"]) == ["mirror.E011"]
        finally:
            cursor.execute("PRAGMA recursive_triggers = ON")


@pytest.mark.only_on("postgres")
@pytest.mark.django_db(transaction=True)
def test_isolation_level_must_be_read_committed() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_isolation = 'repeatable read'")
        try:
            assert ids(databases=["default"]) == ["mirror.E012"]
        finally:
            cursor.execute("RESET default_transaction_isolation")
