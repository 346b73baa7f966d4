"""Shared by the tests of kinds of models: tables of models that a test defines, and mirrors of them."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection, models
from django.test.utils import isolate_apps

from mirror import Mirror, register, registry
from mirror.capture import install
from mirror.checks import check_declarations
from mirror.redis.clients import relay_client
from mirror.relay import drains
from mirror.warm import marker
from tests.support.warm_mirrors import rebuild

Model = type[models.Model]
Create = Callable[..., None]
Declare = Callable[..., type[Mirror]]


class Sample(models.Model):
    """Base of a test's own models. They are registered while the fixture ``isolated`` is in use."""

    class Meta:
        abstract = True
        app_label = "mirrortest"


@pytest.fixture
def isolated() -> Iterator[None]:
    """Give the models that a test defines a registry of their own, so that no other test finds them."""
    with isolate_apps("tests.projects.mirrortest", "django.contrib.contenttypes"):
        yield


@pytest.fixture
def tables(committed: None, isolated: None) -> Iterator[Callable[..., None]]:
    """Return a function that creates the tables of models, and of their many-to-many relations. They are dropped."""
    made: list[Model] = []

    def create(*wanted: Model) -> None:
        with connection.schema_editor() as editor:
            for model in wanted:
                editor.create_model(model)
                made.insert(0, model)

    yield create
    for name in [name for name in registry._mirrors if name.startswith("odd")]:
        registry.unregister(name)
    install.install()
    with connection.schema_editor() as editor:
        for model in made:
            editor.delete_model(model)


@pytest.fixture
def declare(tables: object) -> Declare:
    """Return a function that registers a mirror with these attributes, and makes it warm."""

    def declare(model: Model, *, kind: type[Mirror] = Mirror, **attributes: Any) -> type[Mirror]:
        made: type[Mirror] = type("OddMirror", (kind,), {"model": model, "key": "tkind:{pk}", **attributes})
        register(made)
        assert [fault for _, fault in registry.refused()] == []
        assert [message.msg for message in check_declarations()] == []
        install.install()
        rebuild([made.name])
        assert_equal(made)
        return made

    return declare


def assert_equal(mirror: type[Mirror]) -> dict[str, Any]:
    """Check that Redis has the records of SQL after a drain, while the mirror is warm all the time. Return them."""
    drains.drain_all()
    assert marker.is_warm(relay_client(), mirror.name)
    declared = registry.get(mirror.name)
    keys = declared.keys_after(None, 1000)
    expected = {pk: declared.record(row) for pk, row in declared.load(keys).items()}
    assert mirror.get_many(keys) == expected
    return expected


def refuse(model: Model, **attributes: Any) -> str:
    """Register a declaration that is refused. Return the reason."""
    register(type("OddMirror", (Mirror,), {"model": model, "key": "tkind:{pk}", **attributes}))
    [message] = check_declarations()
    assert message.id == "mirror.E001"
    return message.msg
