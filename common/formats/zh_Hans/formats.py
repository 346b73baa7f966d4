"""Chinese formats: 12,345 and 9月5日. Django uses no separator, groups of four digits, and 09月5日."""

THOUSAND_SEPARATOR = ","
NUMBER_GROUPING = 3
MONTH_DAY_FORMAT = "n月j日"
# A range of days in one month: 12月7日至9日
RANGE_FIRST_FORMAT = "n月j日"
RANGE_LAST_FORMAT = "j日"
