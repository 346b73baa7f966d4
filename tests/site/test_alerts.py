"""Alert rules and dashboard use exported metrics, each alert has a runbook, and faults make their alerts true."""

import json
import operator
import re
from collections import defaultdict
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from django.conf import settings as site
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from pytest_django.fixtures import Settings

from mirror.models import Change, State
from mirror.upkeep import heartbeat
from mirror.utils.counters import count, count_fallback
from social.moderation.models import Case, Kind
from tests.support import warm_mirrors
from tests.support.servers import RedisServer

DEPLOY: Final = site.BASE_DIR / "deploy"
OWN_LABELS: Final = {"job", "instance"}  # Prometheus adds them
WORDS: Final = {"and", "by", "on", "or", "unless"}
# Metrics of node_exporter and blackbox_exporter, with the labels that the rules use.
OTHER_EXPORTERS: Final = {
    "node_filesystem_avail_bytes": {"fstype", "mountpoint"},
    "node_filesystem_size_bytes": {"fstype", "mountpoint"},
    "probe_ssl_earliest_cert_expiry": set[str](),
}
COMPARISON: Final = re.compile(r"(?:^|and )(\w+)(?:\{.*?\})? (==|>) ([\d.]+)$")
PROGRESS: Final = re.compile(r" unless on \(mirror\) sum by \(mirror\) \(increase\((\w+)\[5m\]\)\) > 0$")
OPERATORS: Final = {"==": operator.eq, ">": operator.gt}


def read_rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


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
    grouped = {label.strip() for inner in re.findall(r"(?:by|on) \((.*?)\)", expression) for label in inner.split(",")}
    bare = re.sub(r"\{.*?\}|\[.*?\]|offset \w+|(?:by|on) \(.*?\)|\b[\d.]+", " ", expression)
    names = set(re.findall(r"\b([a-z]\w*)\b(?!\s*\()", bare)) - WORDS
    known = {label for name in names for label in exported.get(name, ())} | OWN_LABELS
    labels = grouped | set(re.findall(r"\{\{(?: *\$labels\.)?(\w+) *\}\}", legend))
    wrong = {
        label for name, own in selected.items() for label in own if label not in exported.get(name, set()) | OWN_LABELS
    }
    return {name for name in names if name not in exported} | wrong | (labels - known)


def find_true_alerts(samples: list[Sample], before: Iterable[Sample] = ()) -> set[str]:
    """Return the alerts whose last comparison, of a gauge with a number, holds for a sample.

    before: samples of five minutes ago, for alerts that need a lack of progress.
    """
    found = set()
    for rule in read_rules():
        expression = rule["expr"].partition(" or ")[0]
        moving = PROGRESS.search(expression)
        busy = list_growing(moving[1], samples, before) if moving else set()
        match = COMPARISON.search(PROGRESS.sub("", expression))
        if match is None:
            continue
        name, sign, limit = match.groups()
        excluded = dict(re.findall(r'(\w+)!="(\w+)"', expression))
        for sample in samples:
            is_selected = not any(sample.labels.get(label) == value for label, value in excluded.items())
            if sample.name != name or not is_selected or sample.labels.get("mirror") in busy:
                continue
            if OPERATORS[sign](sample.value, float(limit)):
                found.add(rule["alert"])
    return found


def list_growing(counter: str, samples: Iterable[Sample], before: Iterable[Sample]) -> set[str | None]:
    """Return the mirrors for which a counter has grown."""
    old = {sample.labels["mirror"]: sample.value for sample in before if sample.name == counter}
    new = {sample.labels["mirror"]: sample.value for sample in samples if sample.name == counter}
    return {mirror for mirror, value in new.items() if mirror in old and value > old[mirror]}


@pytest.mark.django_db(transaction=True)
def test_alerts_and_dashboard_use_exported_names(settings: Settings, tmp_path: Path) -> None:
    settings.LAST_BACKUP_FILE = tmp_path
    State.objects.create(mirror="titem", layout="", differences=0)
    count("applied", 1, mirror="titem")
    count_fallback(["titem"], "cold")
    count("visits_dropped", 1, kind="view", reason="full")
    for _ in range(2):  # the first scrape is counted when it has ended
        samples = scrape()
    exported = find_labels(samples) | {"up": set()} | OTHER_EXPORTERS
    queries = [(rule["expr"], rule["annotations"]["summary"]) for rule in read_rules()] + read_queries()
    assert {query: unknown for query, legend in queries if (unknown := find_unknown(query, legend, exported))} == {}
    changed = {name.replace("pending", "waiting"): labels - {"view"} for name, labels in exported.items()}
    unknown = {name for query, legend in queries for name in find_unknown(query, legend, changed)}
    assert {"mirror_pending", "view"} <= unknown


def find_severities(*names: str) -> set[str]:
    return {rule["labels"]["severity"] for rule in read_rules() if rule["alert"] in names}


def test_each_alert_has_a_chapter_in_the_runbook() -> None:
    runbook = (site.BASE_DIR / "docs" / "runbook.md").read_text()
    chapters = {part.partition("\n")[0]: part for part in runbook.split("\n## ")[1:]}
    rules = read_rules()
    assert list(chapters) == [rule["alert"] for rule in rules]
    for rule in rules:
        assert rule["annotations"]["runbook"] == f"docs/runbook.md#{rule['alert'].lower()}"
        assert re.findall(r"^\*\*(.*?)\*\*", chapters[rule["alert"]], re.M) == ["Meaning.", "Look at.", "Do."]


@pytest.mark.django_db
def test_a_report_that_waits_makes_its_alert_true() -> None:
    case = Case.objects.create(kind=Kind.HASHTAG, target="moss", opened_at=timezone.now() - timedelta(days=1))
    assert "OldReports" not in find_true_alerts(scrape())
    Case.objects.filter(pk=case.pk).update(opened_at=timezone.now() - timedelta(days=3))
    assert "OldReports" in find_true_alerts(scrape())


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
    count("applied", 1, mirror="titem")  # a counter that is new has no progress
    before = scrape()
    assert find_true_alerts(before) == {"OutboxGrowing", "MirrorLag", "MirrorBehind"}
    assert find_severities("OutboxGrowing", "MirrorBehind") == {"ticket"}
    count("applied", 1, mirror="titem")  # a large import: old changes wait, and others are applied
    assert find_true_alerts(scrape(), before) == {"OutboxGrowing", "MirrorBehind"}
    Change.objects.all().delete()
    with redis_server.client() as redis:
        redis.config_set("maxmemory", 1)
        assert find_true_alerts(scrape()) == {"RedisRefusesWrites"}
        redis.config_set("maxmemory", 0)
        redis.config_set("maxmemory-policy", "allkeys-lru")
        assert find_true_alerts(scrape()) == {"RedisEvicts"}
    redis_server.kill()
    assert find_true_alerts(scrape()) == {"RedisAway"}
