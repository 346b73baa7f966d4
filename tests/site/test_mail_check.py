"""A system check reports email backends that do not send, in production only."""

import pytest
from django.core.checks import run_checks
from pytest_django.fixtures import Settings


@pytest.mark.parametrize(("kind", "told"), [("console", {"site.W007"}), ("dummy", {"site.W007"}), ("smtp", set())])
def test_backend_that_does_not_send_is_reported(settings: Settings, kind: str, told: set[str]) -> None:
    settings.EMAIL_BACKEND = f"django.core.mail.backends.{kind}.EmailBackend"
    assert {message.id for message in run_checks(tags=["mail"], include_deployment_checks=True)} == told
    assert run_checks(tags=["mail"]) == []
