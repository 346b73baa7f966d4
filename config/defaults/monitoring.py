"""Settings of metrics, logs and error reports."""

import os
from ipaddress import ip_network
from pathlib import Path

from config.environment import DEBUG, VAR_DIR, env

STATUS_TOKEN = env.str("STATUS_TOKEN", default="")  # opens all details of /readyz, and /metrics
# The networks that may read /metrics: by default this machine.
METRICS_NETWORKS = [ip_network(text) for text in env.list("METRICS_NETWORKS", default=["127.0.0.0/8", "::1/128"])]
# The folder in which all processes of this machine count. prometheus_client reads the variable when it is imported.
if folder := os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
    Path(folder).mkdir(parents=True, exist_ok=True)
LOG_FORMAT = env.str("LOG_FORMAT", default="text" if DEBUG else "json", choices=("json", "text"))
SENTRY_DSN = env.str("SENTRY_DSN", default="")  # errors are reported there; sentry_sdk reads further SENTRY_ variables
LAST_BACKUP_FILE = VAR_DIR / "last-backup"  # `site backup` touches it, and /metrics reads its time
