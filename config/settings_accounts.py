"""People: passwords, lockouts, sessions."""

from config.environment import DEBUG, env

AUTH_USER_MODEL = "accounts.User"
PASSWORD_HASHERS = [
    "accounts.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "accounts.password_rules.NamesValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
AUTHENTICATION_BACKENDS = [
    "accounts.lockout.backend.Backend",
    "accounts.deletion.Backend",
    "django.contrib.auth.backends.ModelBackend",  # of the sessions that name it
]
# Proxies of ours in front of the site: who is asking is that far from the end of X-Forwarded-For. 0: the header,
# which anybody can write, is not looked at, and who is asking is who is connected.
PROXY_COUNT = env.int("PROXY_COUNT", default=0)
LOGIN_FAILURE_LIMIT = 5  # of one name from one address, or of an own device; others: accounts/lockout/limits.py
LOGIN_WAIT_SECONDS = 15 * 60
SESSION_ENGINE = "accounts.sessions"
SESSION_LIMIT = 10_000_000  # sessions that are kept, the newest (``manage.py sessions clean``)
SESSION_CLEAN_SECONDS = 20.0  # which one run of clean-sessions may take; the next run continues
SESSION_TOUCH_SECONDS = 60  # how exactly it is known when a session was last seen
LOGIN_URL = "accounts:login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/"
LETTER_DELAY_SECONDS = 1.0  # before a web process sends a letter itself: the response goes out first
ACCOUNT_DELETION_DAYS = 14  # in which a person may keep an account that they asked to delete
ACCOUNT_DELETION_SECONDS = 20.0  # which one run of delete-accounts may take; the next run continues
# Staff log in with a second factor; those who have none add one first (accounts/second_factor).
SECOND_FACTOR_FOR_STAFF = env.bool("SECOND_FACTOR_FOR_STAFF", default=not DEBUG)
PENDING_LOGIN_SECONDS = 600  # between the password and the second factor
RECENT_LOGIN_SECONDS = 30 * 60  # after which the admin, and changes of second factors, ask again who somebody is
PASSWORD_RESET_TIMEOUT = 3 * 3600  # seconds for which links in letters are good
