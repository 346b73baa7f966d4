"""Run one application of Django's tests in this process, with or without mirrors. The last line of output is JSON."""

import argparse
import json
import logging
import os
import sys
import tempfile
import unittest
import warnings
from pathlib import Path
from typing import Any


def main() -> int:
    """Run the tests and print the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path, help="the folder tests of Django's source")
    parser.add_argument("application")
    parser.add_argument("--plain", action="store_true", help="without mirrors")
    options = parser.parse_args()
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.django_suite.settings"
    sys.path.insert(0, str(options.source))
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = os.environ["TMPDIR"] = folder
        print("\n" + json.dumps(run(options.application, is_plain=options.plain)))
    return 0


def run(application: str, *, is_plain: bool) -> dict[str, Any]:
    """Run the tests of an application. Return a JSON-compatible result."""
    import runtests  # type: ignore[import-not-found]  # of Django's source

    if not is_plain:
        runtests.ALWAYS_INSTALLED_APPS.append("mirror")
    # Warnings of the mirror's dependencies are no failures of Django's tests.
    warnings.resetwarnings()
    warnings.simplefilter("ignore")
    labels, _ = runtests.setup_run_tests(0, None, None, [application])

    from django.apps import apps
    from django.db import connection
    from django.test.runner import DiscoverRunner

    runner = DiscoverRunner(verbosity=0, interactive=False, parallel=1)
    found: dict[str, Any] = {}
    if not is_plain:
        from mirror import registry
        from mirror.relay import signals
        from mirror.warm import triggers
        from tests.django_suite.comparison import Comparison, Log
        from tests.django_suite.declarations import declare_all, drop_without_tables

        config = apps.get_app_config(application)
        logging.getLogger("mirror").addHandler(log := Log())
        found["refused"] = declare_all([config])
        found["models"] = len(list(config.get_models(include_auto_created=True)))
        signals.connect()
        triggers.TRIGGER_CHECK_SECONDS = 3600.0  # type: ignore[misc]  # tests of Django count statements
        comparison = Comparison()
        comparison.install()
    runner.setup_test_environment()
    suite = runner.build_suite(labels)
    aliases = {"default", *runner.get_databases(suite)}
    databases = runner.setup_databases(aliases=aliases)
    if not is_plain:
        found["refused"] += drop_without_tables(connection.introspection.table_names())
        found["mirrored"] = len({mirror.model for mirror in registry.all_mirrors()})
        signals.connect()
    result = runner.run_suite(suite)
    runner.teardown_databases(databases)
    if not is_plain:
        found |= {"compared": comparison.compared, "uncompared": comparison.uncompared}
        found["changes"] = comparison.changes
        found |= {"differences": comparison.differences, "log": log.lines}
    return {**found, "tests": result.testsRun, "failures": _list_failures(result)}


def _list_failures(result: unittest.TestResult) -> dict[str, str]:
    """Return the failed tests, each with the last line of its first error."""
    found: dict[str, str] = {}
    for test, text in [*result.failures, *result.errors]:
        name = getattr(test, "test_case", test).id()
        found.setdefault(name, text.strip().splitlines()[-1])
    return found | {test.id(): "unexpected success" for test in result.unexpectedSuccesses}


if __name__ == "__main__":
    sys.exit(main())
