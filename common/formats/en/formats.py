"""English formats: 21 Nov 2026, 08:32. Browsers write times in the same way, as in British English."""

DATE_FORMAT = "j M Y"
TIME_FORMAT = "H:i"
DATETIME_FORMAT = "j M Y, H:i"
MONTH_DAY_FORMAT = "j M"
# A range of days in one month: 7 to 9 Dec
RANGE_FIRST_FORMAT = "j"
RANGE_LAST_FORMAT = "j M"
FIRST_DAY_OF_WEEK = 1  # Monday
