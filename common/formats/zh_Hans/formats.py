"""Chinese formats: 12,345 and 9月5日. Django uses no separator, groups of four digits, and 09月5日."""

THOUSAND_SEPARATOR = ","
NUMBER_GROUPING = 3
MONTH_DAY_FORMAT = "n月j日"
DAY_FORMAT = "j日"  # the end of a range of days in one month
