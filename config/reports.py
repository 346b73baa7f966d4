"""Reports of errors to Sentry, if SENTRY_DSN is set. They drop what the log drops, and everything about the visitor."""

from typing import Any, Final

from structlog.contextvars import get_contextvars

from common.logs import redact

DROPPED: Final = ("breadcrumbs", "extra", "user")
REDACTED: Final = ("exception", "logentry", "message", "transaction")


def start_reports(dsn: str) -> None:
    """Send errors of this process, and what it logs as an error, to Sentry."""
    import sentry_sdk  # it takes 0.1 s, and most sites do without it
    from sentry_sdk.integrations.celery import CeleryIntegration
    from sentry_sdk.integrations.django import DjangoIntegration
    from sentry_sdk.integrations.logging import ignore_logger

    sentry_sdk.init(
        dsn,
        send_default_pii=False,
        before_send=redact_report,
        include_local_variables=False,
        max_request_body_size="never",
        max_breadcrumbs=0,
        auto_session_tracking=False,
        auto_enabling_integrations=False,
        integrations=[DjangoIntegration(), CeleryIntegration()],
    )
    ignore_logger("django.security.DisallowedHost")  # anybody can cause any number of them


def redact_report(event: Any, hint: Any = None) -> Any:
    """Return an event of Sentry without personal data, with the id of the request as a tag."""
    kept = {name: _redact_all(v) if name in REDACTED else v for name, v in event.items() if name not in DROPPED}
    if request := event.get("request"):
        kept["request"] = {"method": request.get("method"), "url": redact(request.get("url", ""))}
    kept["tags"] = {**event.get("tags", {}), **get_contextvars()}
    return kept


def _redact_all(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _redact_all(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_redact_all(part) for part in value]
    return redact(value) if isinstance(value, str) else value
