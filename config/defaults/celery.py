"""Settings of Celery: the broker, the routes of tasks, and the schedule of beat."""

import os

from celery.schedules import crontab

from config.defaults.redis import REDIS_URL, replace_database
from config.environment import VAR_DIR, env


def _build_broker_url(url: str) -> str:
    """Return a Redis URL in the spelling of kombu (``redis+socket`` for unix sockets, ``virtual_host`` for db)."""
    return url.replace("unix://", "redis+socket://", 1).replace("?db=", "?virtual_host=", 1)


CELERY_BROKER_URL = _build_broker_url(env.str("CELERY_BROKER_URL", default=replace_database(REDIS_URL, 2)))
# Celery reads this variable before any setting, and does not know "unix:".
os.environ["CELERY_BROKER_URL"] = CELERY_BROKER_URL
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_connect_timeout": 0.3,
    "socket_timeout": 5.0,
    "visibility_timeout": 600,
}
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_DEFAULT_QUEUE = "default"
# Rebuild and verify take long. A separate queue keeps them from delaying changes that readers wait for. Workers take
# tasks from their queues in turn, so rebuilds do not stand behind letters either.
CELERY_TASK_ROUTES = {
    "mirror.tasks.rebuild": {"queue": "rebuild"},
    "mirror.tasks.verify": {"queue": "default"},
    "mirror.tasks.perform": {"queue": "default"},
    "mirror.tasks.warm": {"queue": "default"},
    "mirror.tasks.push": {"queue": "fanout"},
    "mirror.tasks.consume_visits": {"queue": "default"},
    "mirror.tasks.*": {"queue": "relay"},
}
CELERY_BEAT_SCHEDULER = "config.beat.Scheduler"
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR_DIR / "celerybeat-schedule")
CELERY_BEAT_SCHEDULE = {
    "mirror-sweep": {"task": "mirror.tasks.sweep", "schedule": 1.0, "options": {"expires": 5}},
    "loginlog-sync": {"task": "loginlog.tasks.sync", "schedule": crontab(0, 0, 1), "options": {"expires": 3600}},
    "loginlog-expire": {"task": "loginlog.tasks.expire", "schedule": 86_400.0, "options": {"expires": 3600}},
    "shop-carts": {"task": "shop.tasks.clean_carts", "schedule": 3600.0, "options": {"expires": 3600}},
    "old-invoices": {"task": "shop.tasks.remove_old_invoices", "schedule": 86_400.0, "options": {"expires": 3600}},
    "settle-pulled": {"task": "social.tasks.settle_pulled", "schedule": 10.0, "options": {"expires": 10}},
    "shop-settle": {"task": "shop.tasks.settle", "schedule": 2.0, "options": {"expires": 5}},
    "note-stock": {"task": "shop.tasks.note_stock", "schedule": 60.0, "options": {"expires": 60}},
    "rescale-views": {"task": "shop.tasks.rescale_views", "schedule": 10.0, "options": {"expires": 10}},
    "expire-views": {"task": "shop.tasks.expire_views", "schedule": 3600.0, "options": {"expires": 3600}},
    "cache-rows": {"task": "shop.tasks.cache_rows", "schedule": 1.0, "options": {"expires": 2}},
    "recommend": {"task": "shop.tasks.recommend", "schedule": 86_400.0, "options": {"expires": 3600}},
    "similar-readers": {
        "task": "social.tasks.find_similar_readers",
        "schedule": 86_400.0,
        "options": {"expires": 3600},
    },
    "send-notifications": {
        "task": "accounts.notifications.tasks.send_emails",
        "schedule": 60.0,
        "options": {"expires": 60},
    },
    "remove-notifications": {
        "task": "accounts.notifications.tasks.remove_old",
        "schedule": 3600.0,
        "options": {"expires": 3600},
    },
    "delete-accounts": {"task": "accounts.tasks.delete_accounts", "schedule": 60.0, "options": {"expires": 60}},
    "lift-suspensions": {"task": "accounts.tasks.lift_suspensions", "schedule": 60.0, "options": {"expires": 60}},
    "run-imports": {"task": "library.tasks.run_all", "schedule": 30.0, "options": {"expires": 30}},
    "clean-reports": {"task": "moderation.tasks.delete_old_cases", "schedule": 3600.0, "options": {"expires": 3600}},
    "clean-sessions": {"task": "accounts.tasks.clean_sessions", "schedule": 60.0, "options": {"expires": 60}},
}
