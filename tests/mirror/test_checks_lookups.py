"""A system check warns of a ``Lookup`` in which two rows can have one key."""

from typing import Any

import pytest
from django.core.checks import CheckMessage
from django.db import models
from django.db.models.functions import Lower
from django.test.utils import isolate_apps

from mirror import Count, Lookup, Mirror, Names, SqlMembers, register, registry
from mirror.checks.lookups import check_lookups

pytestmark = [pytest.mark.usefixtures("own_registry"), pytest.mark.also_on("sqlite")]
DECLARED = [
    "code", "slug", "shop_id", "title", "nick", "lower", "owner_id", "owner__mail", "shop__name", "nameplate__text",
    Names("aliases"), Names("labels"), Count("labels"),
]  # fmt: skip


def declare_model(name: str, options: dict[str, Any] | None = None, /, **fields: Any) -> Any:
    meta = type("Meta", (), {"app_label": "mirrortest", **(options or {})})
    return type(name, (models.Model,), {"__module__": __name__, "Meta": meta, **fields})


@pytest.fixture(scope="module")
def product() -> Any:
    """Return a model with each kind of unique column, and relations of each kind."""
    with isolate_apps("tests.projects.mirrortest"):
        shop = declare_model("Shop", name=models.TextField(unique=True))
        owner = declare_model("Owner", mail=models.TextField(unique=True))
        label = declare_model("Label", name=models.TextField(unique=True))
        constraints = [
            models.UniqueConstraint(fields=["shop", "slug"], name="slug_in_shop"),
            models.UniqueConstraint(fields=["nick"], condition=models.Q(title=""), name="nick_of_some"),
            models.UniqueConstraint(Lower("lower"), name="lower_once"),
        ]
        made = declare_model(
            "Product",
            {"unique_together": [("shop", "title")], "constraints": constraints},
            code=models.TextField(unique=True),
            slug=models.TextField(),
            shop=models.ForeignKey(shop, models.CASCADE),
            owner=models.OneToOneField(owner, models.CASCADE),
            title=models.TextField(),
            nick=models.TextField(),
            lower=models.TextField(),
            labels=models.ManyToManyField(label),
        )
        link = models.OneToOneField(made, models.CASCADE)
        declare_model("Nameplate", product=link, text=models.TextField(unique=True))
        many = models.ForeignKey(made, models.CASCADE, related_name="aliases")
        declare_model("Alias", product=many, name=models.TextField(unique=True))
        yield made


def check(model: Any, lookup: Lookup) -> list[CheckMessage]:
    attributes: Any = {"model": model, "name": "gadget", "key": "gadget:{pk}", "fields": DECLARED}
    register(type("GadgetMirror", (Mirror,), {**attributes, "indexes": [lookup]}))
    return list(check_lookups(registry.get("gadget")))


@pytest.mark.parametrize(
    ("key", "on"),
    [
        ("{value}", "code"),
        ("{shop_id}:{value}", "slug"),
        ("{slug}:{value}", "shop_id"),
        ("{shop_id}:{value}", "title"),
        ("{shop__name}:{value}", "code"),
        ("{value}:{pk}", "slug"),
        ("{value}", "nick"),
        ("{value}", "lower"),
        ("{value}", "owner_id"),
        ("{value}", "owner__mail"),
        ("{value}", "nameplate__text"),
        ("{value}", "aliases"),
    ],
)
def test_lookup_on_unique_values_gives_no_message(product: Any, key: str, on: str) -> None:
    assert check(product, Lookup(f"by:{key}", on=on)) == []


@pytest.mark.parametrize("on", ["slug", "title", "shop_id", "shop__name", "labels", "labels_count"])
def test_lookup_on_other_values_gives_a_warning(product: Any, on: str) -> None:
    [message] = check(product, Lookup("by:{value}", on=on))
    assert message.id == "mirror.W056"
    assert message.msg == (
        "Mirror 'gadget': several rows may have one key 'by:{value}', and find() returns one of them."
    )
    assert message.hint is not None
    assert f"Give {on!r} a unique constraint" in message.hint


def test_lookup_with_a_query_of_its_own_gives_no_message(product: Any) -> None:
    lookup = Lookup(
        "by:{value}", on="slug", sql=lambda values: SqlMembers(product.objects.filter(slug=values["value"]))
    )
    assert check(product, lookup) == []
