"""Settings, read from the environment. ``make demo`` sets variables without a default (``demo.environment``).

``docs/configuration.md`` lists the variables. Without DEBUG the site refuses to start if a secret is missing. System
checks report other settings that are dangerous in production (``manage.py check --deploy``).

This module has the settings of the whole site. It imports those of single areas from ``config.defaults``.
"""

import os
from email.utils import parseaddr
from urllib.parse import urlsplit

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from config import environment
from config.defaults import replicas
from config.defaults.accounts import *  # noqa: F403
from config.defaults.accounts import PROXY_COUNT
from config.defaults.admin import UNFOLD  # noqa: F401
from config.defaults.catalog import *  # noqa: F403
from config.defaults.celery import *  # noqa: F403
from config.defaults.monitoring import *  # noqa: F403
from config.defaults.monitoring import LOG_FORMAT
from config.defaults.redis import *  # noqa: F403
from config.defaults.redis import MIRROR
from config.defaults.shop import *  # noqa: F403
from config.defaults.social import *  # noqa: F403
from config.defaults.web import *  # noqa: F403
from config.environment import env

BASE_DIR = environment.BASE_DIR
VAR_DIR = environment.VAR_DIR

DEBUG = environment.DEBUG
# For development only, because this key is public.
PUBLISHED_KEY = "django-insecure-diptych-demo-only-not-for-production"
SECRET_KEY = environment.read_required("SECRET_KEY", PUBLISHED_KEY)
if SECRET_KEY == PUBLISHED_KEY and not DEBUG:
    raise ImproperlyConfigured("SECRET_KEY is the published one, and DEBUG is off: anybody could sign sessions.")
# Former keys, whose signatures and secrets stay valid during a rotation.
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])
# The origin of the site, for links in emails and for cookies. Requests may use any host of ALLOWED_HOSTS.
SITE_URL = environment.read_origin("SITE_URL", f"http://127.0.0.1:{os.environ.get('PORT') or 8000}")
IS_HTTPS = SITE_URL.startswith("https:")
LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=[*LOCAL_HOSTS, urlsplit(SITE_URL).hostname])
INTERNAL_IPS = ["127.0.0.1", "::1"]

INSTALLED_APPS = [
    "config.apps.SiteConfig",
    "common",  # its templates come before those of the admin
    "unfold.apps.BasicAppConfig",
    "config.apps.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.sitemaps",
    "django.contrib.staticfiles",
    "django_htmx",
    "mirror",
    "accounts",
    "accounts.notifications",
    "catalog",
    "catalog.details",
    "catalog.search",
    "catalog.lists",
    "catalog.library",
    "catalog.wishes",
    "catalog.following",
    "shop",
    "shop.invoices",
    "social",
    "social.moderation",
    "social.reviews",
    "social.welcome",
    "loginlog",
    "demo",
]

MIDDLEWARE = [
    "common.middleware.metrics.MeasureRequestsMiddleware",
    "common.middleware.request_id.RequestIdMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "common.middleware.policy.PolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "common.middleware.charset.Utf8Middleware",
    "shop.pagecache.middleware.PageCache",
    "shop.pagecache.middleware.ReadAhead",
    "common.database.request_priority.RequestPriorityMiddleware",
    "mirror.middleware.ReadYourWrites",
    "accounts.middleware.SessionMiddleware",
    "common.middleware.language.LanguageMiddleware",
    "django.middleware.common.CommonMiddleware",
    "common.middleware.csrf.CsrfMiddleware",
    "common.middleware.methods.OfferedMethodsMiddleware",
    "common.middleware.typed.CleanParametersMiddleware",
    "common.middleware.shedding.ShedLoadMiddleware",
    "common.middleware.admin_fields.AdminFieldsMiddleware",
    "accounts.middleware.AuthenticationMiddleware",
    "loginlog.middleware.FirstRequestOfTheDay",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "common.middleware.explain.ExplainMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"

TEMPLATES = [
    {  # the pages; their templates are in the folders "jinja2"
        "BACKEND": "django.template.backends.jinja2.Jinja2",
        "APP_DIRS": True,
        "OPTIONS": {"environment": "config.defaults.jinja.make_environment"},
    },
    {  # emails, Django admin and libraries
        "BACKEND": "django.template.backends.django.DjangoTemplates",
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

# --- SQL ------------------------------------------------------------------------------------
DATABASES = {"default": env.db("DATABASE_URL", default=f"sqlite:///{VAR_DIR / 'db.sqlite3'}")}
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # Opening the file costs as much as ten statements. Not longer, because the file may be replaced by a copy.
    DATABASES["default"]["CONN_MAX_AGE"] = 10
    DATABASES["default"]["OPTIONS"] = {
        # A transaction takes the write lock when it begins, and not at its first write.
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,  # seconds
        # recursive_triggers: REPLACE must fire delete triggers, or no trigger captures a replaced row.
        # cache_size: minus kibibytes for each connection; with the default of 2,000 a load of a catalogue takes half as
        # long again, because the indices of the search do not fit.
        "init_command": (
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-32000; "
            "PRAGMA recursive_triggers=ON;"
        ),
    }
else:
    DATABASES["default"]["CONN_MAX_AGE"] = 600
    # Without a time-out, a page (or /readyz) would wait for minutes if the database does not answer.
    DATABASES["default"].setdefault("OPTIONS", {}).setdefault("connect_timeout", 3)
if MIRROR["REPLICA"]:
    if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
        raise ImproperlyConfigured("DATABASE_REPLICA_URL needs PostgreSQL in DATABASE_URL; SQLite has no replicas.")
    DATABASES[MIRROR["REPLICA"]] = replicas.build_database(env.db("DATABASE_REPLICA_URL"))
# While Redis is away, anonymous requests for these lists that one process answers at once; others get status 503.
SHED_LISTS = env.int("SHED_LISTS", default=2)
SHED_RETRY_SECONDS = 10
SHED_VIEWS = {
    "catalog:list", "author", "search:search", "accounts:leaderboard", "social:global", "social:hashtag",
    "social:people", "social:book_posts", "social:author_posts", "social:followers", "social:following",
}  # fmt: skip
SQLITE_YIELD_SECONDS = 1.0  # the longest time for which a statement outside requests lets waiting requests write first
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- mail: EMAIL_URL sets EMAIL_BACKEND, EMAIL_HOST and so on -----------------------------------
globals().update(env.email_url("EMAIL_URL", default="consolemail://"))
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="Diptych <diptych@localhost>")
SERVER_EMAIL = DEFAULT_FROM_EMAIL
# The contact for reports of security problems: a mailto:, https: or tel: address.
SECURITY_CONTACT = env.str("SECURITY_CONTACT", default=f"mailto:{parseaddr(DEFAULT_FROM_EMAIL)[1]}")

# Where the source code is: a link in the footer of each page.
SOURCE_URL = env.str("SOURCE_URL", default="")

# --- the demo --------------------------------------------------------------------------------
DEMO_TIMEOUT_SECONDS = 20.0  # the longest wait of a simulated visitor for a page

# --- language and time ----------------------------------------------------------------------
LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [BASE_DIR / "config/locale"]
FORMAT_MODULE_PATH = "common.formats"
USE_I18N = True
USE_TZ = True
TIME_ZONE = env.str("TIME_ZONE", default="UTC")
CLOCK = timezone.now  # the clock of the shop and the login log, which tests replace

# --- static files ---------------------------------------------------------------------------
STATIC_URL = "/static/"
STATIC_ROOT = VAR_DIR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage" if DEBUG else "common.bundles.BundledStorage"
    },
}
WHITENOISE_USE_FINDERS = DEBUG
# Pictures of readers. Several web servers need a common storage (docs/operations.md).
MEDIA_ROOT = env.str("MEDIA_ROOT", default=str(VAR_DIR / "media"))
MEDIA_URL = "/media/"

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
FILE_UPLOAD_HANDLERS = ["common.web.uploads.AcceptedFilesHandler"]
CSRF_FAILURE_VIEW = "common.web.errors.csrf_failure"
SILENCED_SYSTEM_CHECKS = [
    "security.W003"
]  # it looks for Django's CsrfViewMiddleware by its name, and not for subclasses
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
PERMISSIONS_POLICY = (
    "camera=(), geolocation=(), microphone=(), payment=(), usb=(), "
    "publickey-credentials-create=(self), publickey-credentials-get=(self)"
)
# Browsers accept a cookie with this prefix only over https and from this host itself.
COOKIE_PREFIX = "__Host-" if IS_HTTPS else ""
SESSION_COOKIE_NAME = f"{COOKIE_PREFIX}sessionid"
CSRF_COOKIE_NAME = f"{COOKIE_PREFIX}csrftoken"
LANGUAGE_COOKIE_NAME = f"{COOKIE_PREFIX}django_language"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = IS_HTTPS
CSRF_COOKIE_HTTPONLY = LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
if PROXY_COUNT:  # without a proxy, clients could forge the header
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
if IS_HTTPS:
    SECURE_SSL_REDIRECT = env.bool("SECURE_SSL_REDIRECT", default=True)
    SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]  # probes speak plain HTTP
    SECURE_HSTS_SECONDS = env.int("SECURE_HSTS_SECONDS", default=31_536_000)
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    # The list of browsers is hard to leave, and covers all subdomains: an operator decides about it.
    SECURE_HSTS_PRELOAD = env.bool("SECURE_HSTS_PRELOAD", default=False)
    SILENCED_SYSTEM_CHECKS.append("security.W021")  # it advises the opposite

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "common.logs.build_formatter", "kind": LOG_FORMAT}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    # "django" has a console handler by default, which would log everything twice.
    "loggers": {"mirror": {"level": "INFO"}, "django": {"level": "INFO", "handlers": []}},
}
