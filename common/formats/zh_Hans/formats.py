"""Chinese formats: 12,345. Django uses no separator and groups of four digits."""

THOUSAND_SEPARATOR = ","
NUMBER_GROUPING = 3
