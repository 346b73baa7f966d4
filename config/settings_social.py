"""What readers say to one another, and when they came."""

from config.environment import VAR_DIR

FOLLOW_LIMIT = 7_500  # people whom one person may follow
# How often somebody may follow (and block, and mute): so many times in so many seconds.
FOLLOW_RATES = ((60, 300), (400, 86_400))
SOCIAL_PULL_FOLLOWERS = 10_000  # with more of them an author's posts are fetched by their readers, and not delivered
POST_RATES = ((10, 60), (100, 3600))  # and post
POST_TRIES = (60, 60)  # and try to, texts that are refused included
LOGINLOG_SYNC_SECONDS = 1.0  # how often logins are taken to SQL: an emptied Redis costs those since then
LOGINLOG_EXPIRE_DAYS = 62  # how long Redis keeps them; at least 31
LOGINLOG_FOLDER = VAR_DIR / "loginlog"  # where what has expired is written down
