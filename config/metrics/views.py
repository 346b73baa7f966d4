"""``/metrics``: all metrics of the site, for the networks of METRICS_NETWORKS and for STATUS_TOKEN."""

import ipaddress
import os
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from accounts.ratelimit import find_client_address
from config.health import has_status_token
from config.metrics.collector import SiteCollector
from config.metrics.processes import hold_folder, merge_ended
from mirror.metrics.prometheus import get_registry

FORWARDED: Final = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_REAL_IP")
SITE_REGISTRY: Final = CollectorRegistry()
SITE_REGISTRY.register(SiteCollector())


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer Prometheus. Parts that are away are missing, and their ``..._up`` is 0."""
    if not (has_status_token(request) or is_in_network(request)):
        return HttpResponseForbidden("Not for this address.\n", content_type="text/plain")
    return HttpResponse(render_metrics(), content_type=CONTENT_TYPE_LATEST)


def render_metrics() -> bytes:
    """Return the metrics of this process, or of all processes in multi-process mode, in Prometheus' format."""
    folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    if not folder:
        return generate_latest(get_registry()) + generate_latest(SITE_REGISTRY)
    with hold_folder(folder):
        merge_ended(folder)
        return generate_latest(get_registry()) + generate_latest(SITE_REGISTRY)


def is_in_network(request: HttpRequest) -> bool:
    """Return whether the request comes from one of METRICS_NETWORKS.

    Without PROXY_COUNT, a request that a proxy forwarded is from no network: it would have the proxy's address, which
    is often that of this machine.
    """
    is_forwarded = any(name in request.META for name in FORWARDED)
    if is_forwarded and not settings.PROXY_COUNT:
        return False
    try:
        address = ipaddress.ip_address(
            find_client_address(request) if is_forwarded else request.META.get("REMOTE_ADDR", "")
        )
    except ValueError:
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return any(address in network for network in settings.METRICS_NETWORKS)
