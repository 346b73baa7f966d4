"""Settings of follows, posts and the login log."""

from config.environment import VAR_DIR

FOLLOW_LIMIT = 7_500  # people that one reader may follow
# Rate limits of one reader: (limit, period in seconds).
FOLLOW_RATES = ((60, 300), (400, 86_400))  # follows, blocks and mutes
SOCIAL_PULL_FOLLOWERS = 10_000  # authors with more followers are pulled
POST_RATES = ((10, 60), (100, 3600))  # posts
POST_TRIES = (60, 60)  # attempts to post, including refused texts
LIKE_RATES = ((60, 60), (2000, 86_400))  # likes
REPORT_RATES = ((10, 3600), (30, 86_400))  # reports of one reader or address
APPEAL_DAYS = 184  # for an appeal against a decision of staff; article 20 of the Digital Services Act: six months
REPORT_DAYS = 365  # for which decided cases are kept, longer than the time for an appeal
MODERATION_EMAILS = 20  # emails about reports and decisions to one address in a day
LOGINLOG_EXPIRE_DAYS = 62  # the days for which Redis keeps logins; at least 31
LOGINLOG_FOLDER = VAR_DIR / "loginlog"  # the folder for files of expired logins
