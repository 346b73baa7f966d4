"""Settings of accounts: passwords, lock-outs, sessions."""

from config.environment import DEBUG, env

AUTH_USER_MODEL = "accounts.User"
PASSWORD_HASHERS = [
    "accounts.passwords.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "accounts.passwords.validators.NamesValidator"},
    {"NAME": "accounts.passwords.validators.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "accounts.passwords.validators.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
AUTHENTICATION_BACKENDS = [
    "accounts.lockout.backend.Backend",
    "accounts.deletion.Backend",
    "django.contrib.auth.backends.ModelBackend",  # for sessions that name it
]
# The number of trusted proxies in front of the site. The visitor's address is that far from the end of X-Forwarded-For.
# 0: the header is ignored, because clients can forge it, and the visitor's address is that of the connection.
PROXY_COUNT = env.int("PROXY_COUNT", default=0)
LOGIN_FAILURE_LIMIT = 5  # for one name from one address, or from a known device; others: accounts/lockout/limits.py
LOGIN_WAIT_SECONDS = 15 * 60
SESSION_ENGINE = "accounts.sessions.engine"
SESSION_LIMIT = 10_000_000  # the number of newest sessions to keep (``manage.py sessions clean``)
SESSION_CLEAN_SECONDS = 20.0  # the budget of one run of clean-sessions; the next run continues
SESSION_TOUCH_SECONDS = 60  # the precision of the time at which a session was last seen
LOGIN_URL = "accounts:login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "home"
SESSION_BUCKETS = 1  # keys into which ``login:`` is divided on a large cluster (docs/scaling.md)
LETTER_DELAY_SECONDS = 1.0  # the delay before a web process sends an email itself, so that the response goes out first
ACCOUNT_DELETION_DAYS = 14  # the time in which a person may revoke the deletion of an account
ACCOUNT_DELETION_SECONDS = 20.0  # the budget of one run of delete-accounts; the next run continues
# Whether staff need a second factor. Staff without one add it at their next login (accounts/second_factor).
SECOND_FACTOR_FOR_STAFF = env.bool("SECOND_FACTOR_FOR_STAFF", default=not DEBUG)
PENDING_LOGIN_SECONDS = 600  # the longest time between the password and the second factor
RECENT_LOGIN_SECONDS = 30 * 60  # after this time the admin and changes of second factors ask for a new proof
REAUTHENTICATION_SECONDS = 30 * 24 * 3600  # a session in use ends this long after its last proof of identity
PASSWORD_RESET_TIMEOUT = 3 * 3600  # the validity of links in emails, in seconds
NOTIFICATION_DAYS = 90  # notifications are removed this long after their latest fact
NOTIFICATION_EMAIL_SECONDS = 900  # the shortest time between two emails with notifications to one reader
