"""Read the metrics of the site."""

from typing import Any

from django.test import Client
from prometheus_client.parser import text_string_to_metric_families


def scrape(**extra: Any) -> dict[str, float]:
    """Return the samples of /metrics, by name and labels as in its text."""
    response = Client().get("/metrics", **extra)
    assert response.status_code == 200
    samples = {}
    for family in text_string_to_metric_families(response.content.decode()):
        for sample in family.samples:
            labels = ",".join(f'{name}="{value}"' for name, value in sample.labels.items())
            samples[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return samples
