"""Alert rules and dashboard use exported metrics, each alert has a runbook, and faults make their alerts true."""

import json
import operator
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

import pytest
import yaml
from django.conf import settings as site
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from mirror.metrics import count, count_fallback
from mirror.models import Change, State
from mirror.relay import heartbeat
from tests.support import warm_mirrors
from tests.support.servers import RedisServer

DEPLOY: Final = site.BASE_DIR / "deploy"
OWN_LABELS: Final = {"job", "instance"}  # Prometheus adds them
WORDS: Final = {"and", "by", "on", "or", "unless"}
COMPARISON: Final = re.compile(r"(?:^|and )(\w+) (==|>) ([\d.]+)$")
OPERATORS: Final = {"==": operator.eq, ">": operator.gt}


def read_rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"]
    return list(group["rules"])


def read_queries() -> list[tuple[str, str]]:
    """Return the expressions of the dashboard with their legends."""
    panels = json.loads((DEPLOY / "dashboard.json").read_text())["panels"]
    return [(target["expr"], target["legendFormat"]) for panel in panels for target in panel["targets"]]


def scrape() -> list[Sample]:
    text = Client().get("/metrics").content.decode()
    return [sample for family in text_string_to_metric_families(text) for sample in family.samples]


def find_labels(samples: Iterable[Sample]) -> dict[str, set[str]]:
    """Return the labels of each metric."""
    found = defaultdict[str, set[str]](set)
    for sample in samples:
        found[sample.name] |= sample.labels.keys()
    return found


def find_unknown(expression: str, legend: str, exported: dict[str, set[str]]) -> set[str]:
    """Return the names and labels in an expression and in its legend that the site does not export."""
    selected = {name: re.findall(r"(\w+)\s*[=!]", inner) for name, inner in re.findall(r"(\w+)\{(.*?)\}", expression)}
    grouped = {label.strip() for inner in re.findall(r"by \((.*?)\)", expression) for label in inner.split(",")}
    bare = re.sub(r"\{.*?\}|\[.*?\]|offset \w+|by \(.*?\)|\b[\d.]+", " ", expression)
    names = set(re.findall(r"\b([a-z]\w*)\b(?!\s*\()", bare)) - WORDS
    known = {label for name in names for label in exported.get(name, ())} | OWN_LABELS
    labels = grouped | set(re.findall(r"\{\{(?: *\$labels\.)?(\w+) *\}\}", legend))
    wrong = {
        label for name, own in selected.items() for label in own if label not in exported.get(name, set()) | OWN_LABELS
    }
    return {name for name in names if name not in exported} | wrong | (labels - known)


def find_true_alerts(samples: list[Sample]) -> set[str]:
    """Return the alerts whose last comparison, of a gauge with a number, holds for a sample."""
    found = set()
    for rule in read_rules():
        if match := COMPARISON.search(rule["expr"]):
            name, sign, limit = match.groups()
            if any(s.name == name and OPERATORS[sign](s.value, float(limit)) for s in samples):
                found.add(rule["alert"])
    return found


@pytest.mark.django_db(transaction=True)
def test_alerts_and_dashboard_use_exported_names() -> None:
    State.objects.create(mirror="titem", layout="", differences=0)
    count("applied", 1, mirror="titem")
    count_fallback(["titem"], "cold")
    for _ in range(2):  # the first scrape is counted when it has ended
        samples = scrape()
    exported = find_labels(samples) | {"up": set()}
    queries = [(rule["expr"], rule["annotations"]["summary"]) for rule in read_rules()] + read_queries()
    assert {query: unknown for query, legend in queries if (unknown := find_unknown(query, legend, exported))} == {}
    changed = {name.replace("pending", "waiting"): labels - {"view"} for name, labels in exported.items()}
    unknown = {name for query, legend in queries for name in find_unknown(query, legend, changed)}
    assert {"mirror_pending", "view"} <= unknown


def test_each_alert_has_a_chapter_in_the_runbook() -> None:
    runbook = (site.BASE_DIR / "docs" / "runbook.md").read_text()
    chapters = {part.partition("\n")[0]: part for part in runbook.split("\n## ")[1:]}
    rules = read_rules()
    assert list(chapters) == [rule["alert"] for rule in rules]
    for rule in rules:
        assert rule["annotations"]["runbook"] == f"docs/runbook.md#{rule['alert'].lower()}"
        assert re.findall(r"^\*\*(.*?)\*\*", chapters[rule["alert"]], re.M) == ["Meaning.", "Look at.", "Do."]


@pytest.mark.django_db(transaction=True)
def test_faults_make_their_alerts_true(redis_server: RedisServer) -> None:
    assert find_true_alerts(scrape()) == {"MirrorCold", "MirrorInDoubt"}  # an emptied Redis without a relay
    warm_mirrors.rebuild(warm_mirrors.ALL)
    heartbeat.beat()
    assert find_true_alerts(scrape()) == set()
    old = "2026-01-01T00:00Z"
    Change.objects.create(mirror="titem", key="1", quarantined_at=old)
    assert find_true_alerts(scrape()) == {"MirrorQuarantined"}
    Change.objects.all().delete()
    Change.objects.bulk_create(Change(mirror="titem", key=str(n), created_at=old) for n in range(1001))
    assert find_true_alerts(scrape()) == {"OutboxGrowing", "MirrorLag"}
    Change.objects.all().delete()
    with redis_server.client() as redis:
        redis.config_set("maxmemory", 1)
        assert find_true_alerts(scrape()) == {"RedisRefusesWrites"}
    redis_server.kill()
    assert find_true_alerts(scrape()) == {"RedisAway"}
