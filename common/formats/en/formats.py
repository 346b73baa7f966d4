"""English formats: Nov 21, 2026, 8:32 AM. Browsers write times in the same way."""

DATE_FORMAT = "M j, Y"
TIME_FORMAT = "g:i A"
DATETIME_FORMAT = "M j, Y, g:i A"
MONTH_DAY_FORMAT = "M j"
DAY_FORMAT = "j"  # the end of a range of days in one month
