"""Settings of follows, posts and the login log."""

from config.environment import VAR_DIR

FOLLOW_LIMIT = 7_500  # people that one reader may follow
# Rate limits of one reader: (limit, period in seconds).
FOLLOW_RATES = ((60, 300), (400, 86_400))  # follows, blocks and mutes
SOCIAL_PULL_FOLLOWERS = 10_000  # authors with more followers are pulled
POST_RATES = ((10, 60), (100, 3600))  # posts
POST_TRIES = (60, 60)  # attempts to post, including refused texts
LIKE_RATES = ((60, 60), (2000, 86_400))  # likes
LOGINLOG_EXPIRE_DAYS = 62  # the days for which Redis keeps logins; at least 31
LOGINLOG_FOLDER = VAR_DIR / "loginlog"  # the folder for files of expired logins
