"""Settings, read from the environment; every default works for ``make demo``.

The names are in README.md. What would be dangerous in production is reported by
system checks (``manage.py check --deploy``), not silently mended here.
"""

import hashlib
import os
import tempfile
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import environ
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.retry import Retry

from config.unfold import UNFOLD  # noqa: F401

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = BASE_DIR / "var"
env = environ.Env()

DEBUG = env.bool("DEBUG", default=True)
# A key for development only: the deploy check refuses it (prefix "django-insecure-").
SECRET_KEY = env.str("SECRET_KEY", default="django-insecure-diptych-demo-only-not-for-production")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
INTERNAL_IPS = ["127.0.0.1", "::1"]

INSTALLED_APPS = [
    "config.apps.SiteConfig",
    "unfold",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "axes",
    "mirror",
    "accounts",
    "catalog",
    "shop",
    "social",
    "loginlog",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "config.csp.PolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.charset.Utf8Only",
    "shop.pagecache.middleware.PageCache",
    "config.people_first.PeopleFirst",
    "mirror.middleware.ReadYourWrites",
    "shop.middleware.CartBehind",
    "accounts.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "accounts.middleware.AuthenticationMiddleware",
    "loginlog.middleware.FirstRequestOfTheDay",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "config.explain.ExplainMiddleware",
    "axes.middleware.AxesMiddleware",  # last: makes the answer of who is locked out
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "config" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# --- SQL: the truth -------------------------------------------------------------------------
DATABASES = {"default": env.db("DATABASE_URL", default=f"sqlite:///{VAR_DIR / 'db.sqlite3'}")}
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["OPTIONS"] = {
        # One writer at a time, decided when a transaction begins and not at its first write.
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        # recursive_triggers: REPLACE must fire delete triggers, or a replaced row goes unnoticed.
        "init_command": ("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA recursive_triggers=ON;"),
    }
else:
    DATABASES["default"]["CONN_MAX_AGE"] = 600
    # A database that does not answer must not keep a page (or /readyz) waiting for minutes.
    DATABASES["default"].setdefault("OPTIONS", {}).setdefault("connect_timeout", 3)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Redis: what is read --------------------------------------------------------------------


def _embedded(database: int) -> str:
    """The URL of a database of the embedded Redis (started by ``config.devserver``)."""
    socket = VAR_DIR / "redis" / "redis.sock"
    if len(str(socket)) > 100:  # a socket's path has at most 107 bytes
        digest = hashlib.sha256(bytes(BASE_DIR)).hexdigest()[:12]
        socket = Path(tempfile.gettempdir()) / f"diptych-{digest}" / "redis.sock"
    return f"unix://{socket}?db={database}"


def _beside(url: str, database: int) -> str:
    """The URL of another logical database of the same server."""
    if url.startswith("unix:"):
        return f"{url.partition('?')[0]}?db={database}"
    return urlsplit(url)._replace(path=f"/{database}").geturl()


REDIS_URL = env.str("REDIS_URL", default=_embedded(0))
CACHE_URL = env.str("CACHE_URL", default=_beside(REDIS_URL, 1))


def _redis(url: str, *, timeout: float) -> dict[str, object]:
    """One django-redis alias with short, explicit timeouts (redis-py 8 would wait 5 s, thrice)."""
    return {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": url,
        "OPTIONS": {
            "SOCKET_CONNECT_TIMEOUT": timeout,
            "SOCKET_TIMEOUT": timeout,
            "CONNECTION_FACTORY": "mirror.redis.PoolFactory",
            "CONNECTION_POOL_CLASS": "mirror.redis.MirrorPool",
            "CONNECTION_POOL_KWARGS": {
                # Once more, at once, for a pooled connection that a restart has closed;
                # never after a time-out, or a hung server costs twice.
                "retry": Retry(NoBackoff(), 1, supported_errors=(RedisConnectionError,)),
            },
        },
    }


if REDIS_URL.startswith("redis+cluster:"):
    raise ImproperlyConfigured("REDIS_URL: Redis Cluster is not supported yet (docs/decisions.md says what is missing)")

CACHES = {
    "default": _redis(CACHE_URL, timeout=0.3),
    "state": _redis(REDIS_URL, timeout=0.3),  # requests
    "relay": _redis(REDIS_URL, timeout=5.0),  # workers and commands, which can wait
}
DJANGO_REDIS_IGNORE_EXCEPTIONS = True  # for the cache API only: a lost cache is a miss

MIRROR = {
    "ALIAS": "state",
    "RELAY_ALIAS": "relay",
    "PREFIX": env.str("REDIS_PREFIX", default=""),
}

# --- Celery ---------------------------------------------------------------------------------


def _broker(url: str) -> str:
    """Kombu's spelling of a Redis URL (it calls unix sockets ``redis+socket`` and a db ``virtual_host``)."""
    return url.replace("unix://", "redis+socket://", 1).replace("?db=", "?virtual_host=", 1)


CELERY_BROKER_URL = _broker(env.str("CELERY_BROKER_URL", default=_beside(REDIS_URL, 2)))
# Celery reads the variable itself, before any setting, and does not know "unix:".
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
# Rebuild and verify take long: they must not stand in front of the changes that people wait for.
CELERY_TASK_ROUTES = {
    "mirror.tasks.rebuild": {"queue": "default"},
    "mirror.tasks.verify": {"queue": "default"},
    "mirror.tasks.warm": {"queue": "default"},
    "mirror.tasks.push": {"queue": "fanout"},
    "mirror.tasks.*_backup": {"queue": "default"},
    "mirror.tasks.*": {"queue": "relay"},
}
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR_DIR / "celerybeat-schedule")
CELERY_BEAT_SCHEDULE = {
    "mirror-sweep": {"task": "mirror.tasks.sweep", "schedule": 1.0, "options": {"expires": 5}},
    "mirror-backups": {"task": "mirror.tasks.flush_backups", "schedule": 1.0, "options": {"expires": 5}},
    "loginlog-settle": {"task": "loginlog.tasks.settle", "schedule": 5.0, "options": {"expires": 5}},
    "loginlog-expire": {"task": "loginlog.tasks.expire", "schedule": 86_400.0, "options": {"expires": 3600}},
    "shop-carts": {"task": "shop.tasks.settle_carts", "schedule": 5.0, "options": {"expires": 5}},
    "settle-pulled": {"task": "social.tasks.settle_pulled", "schedule": 10.0, "options": {"expires": 10}},
    "shop-settle": {"task": "shop.tasks.settle", "schedule": 2.0, "options": {"expires": 5}},
    "rescale-views": {"task": "shop.tasks.rescale_views", "schedule": 10.0, "options": {"expires": 10}},
    "expire-views": {"task": "shop.tasks.expire_views", "schedule": 3600.0, "options": {"expires": 3600}},
    "cache-rows": {"task": "shop.tasks.cache_rows", "schedule": 1.0, "options": {"expires": 2}},
    "recommend": {"task": "shop.tasks.recommend", "schedule": 86_400.0, "options": {"expires": 3600}},
    "clean-sessions": {"task": "accounts.tasks.clean_sessions", "schedule": 60.0, "options": {"expires": 60}},
}

# --- people ---------------------------------------------------------------------------------
AUTH_USER_MODEL = "accounts.User"
PASSWORD_HASHERS = [
    "accounts.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
AUTHENTICATION_BACKENDS = ["accounts.lockout.backend.Backend", "django.contrib.auth.backends.ModelBackend"]
# Proxies of ours in front of the site: who is asking is that far from the end of X-Forwarded-For. 0: the header,
# which anybody can write, is not looked at, and who is asking is who is connected.
PROXY_COUNT = env.int("PROXY_COUNT", default=0)
AXES_HANDLER = "accounts.lockout.handler.Handler"  # what is counted: accounts/lockout/limits.py
AXES_LOCKOUT_CALLABLE = "accounts.views.too_many.locked_out"
AXES_CLIENT_IP_CALLABLE = "accounts.ratelimit.address"
AXES_FAILURE_LIMIT = 5  # of one name from one address, or of an own device
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_USERNAME_FORM_FIELD = "username"
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_ENABLE_ADMIN = False  # its tables stay empty; ours is in the admin
AXES_VERBOSE = False
SESSION_ENGINE = "accounts.sessions"
SESSION_LIMIT = 10_000_000  # sessions that are kept, the newest (``manage.py sessions clean``)
SESSION_TOUCH_SECONDS = 60  # how exactly it is known when a session was last seen
FOLLOW_LIMIT = 7_500  # people whom one person may follow
# How often somebody may follow (and block, and mute): so many times in so many seconds.
FOLLOW_RATES = ((60, 300), (400, 86_400))
SOCIAL_PULL_FOLLOWERS = 10_000  # with more of them an author's posts are fetched by their readers, and not delivered
POST_RATES = ((10, 60), (100, 3600))  # and post
SHOP_CURRENCY = "EUR"  # what prices are in: whole cents of it
SHOP_CART_LINES, SHOP_CART_QUANTITY = 100, 99  # products in a cart, and copies of one
SHOP_SALE_ROW_SECONDS, SHOP_ROW_SECONDS = 3.0, 60.0  # how old cached rows are, of what is on sale and what will be
SHOP_VIEW_DAYS = 1096  # for which customers' views are kept, and recommendations look back
SHOP_RESERVATION_SECONDS = 600  # for which a checkout keeps copies while it is paid
# For which it is believed, without asking SQL, that too few copies are left.
SHOP_HOLD_SECONDS = env.float("SHOP_HOLD_SECONDS", default=2.0)
SHOP_PAYMENT_TRIES = 10  # to pay that come to nothing, of one person in ten minutes
# Who takes the money (shop/payments), and how long a page waits for an answer.
PAYMENT_PROVIDER = env.str("PAYMENT_PROVIDER", default="shop.payments.fake.FakeProvider")
PAYMENT_TIMEOUT_SECONDS = env.float("PAYMENT_TIMEOUT_SECONDS", default=4.0)
# What callbacks are signed with ("": the secret key), and where the fake provider calls back.
PAYMENT_CALLBACK_SECRET = env.str("PAYMENT_CALLBACK_SECRET", default="")
PAYMENT_CALLBACK_URL = env.str(
    "PAYMENT_CALLBACK_URL", default=f"http://127.0.0.1:{os.environ.get('PORT') or 8000}/shop/payments/callback/"
)
LOGINLOG_SYNC_SECONDS = 3600.0  # how often logins are taken to SQL
LOGINLOG_EXPIRE_DAYS = 62  # how long Redis keeps them; at least 31
LOGINLOG_FOLDER = VAR_DIR / "loginlog"  # where what has expired is written down
LOGIN_URL = "accounts:login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/"
PASSWORD_RESET_TIMEOUT = 3 * 3600  # seconds for which links in letters are good

# --- mail: EMAIL_URL says by whom (EMAIL_BACKEND, EMAIL_HOST and so on) -------------------------
globals().update(env.email_url("EMAIL_URL", default="consolemail://"))
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="Diptych <diptych@localhost>")
SERVER_EMAIL = DEFAULT_FROM_EMAIL

# --- language and time ----------------------------------------------------------------------
LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [BASE_DIR / "config" / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = env.str("TIME_ZONE", default="UTC")

# --- static files ---------------------------------------------------------------------------
STATIC_URL = "/static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "config" / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = DEBUG

# --- safety ---------------------------------------------------------------------------------
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
CSRF_FAILURE_VIEW = "config.errors.csrf_failure"
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
if not DEBUG:
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = env.bool("SECURE_SSL_REDIRECT", default=True)
    SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]  # probes speak plain HTTP
    SECURE_HSTS_SECONDS = env.int("SECURE_HSTS_SECONDS", default=31_536_000)
    SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = True

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    # "django" has a console of its own by default, and would say everything twice.
    "loggers": {"mirror": {"level": "INFO"}, "django": {"level": "INFO", "handlers": []}},
}
