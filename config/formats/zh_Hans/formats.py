"""Chinese: 12,345. Django has no separator and groups of four."""

THOUSAND_SEPARATOR = ","
NUMBER_GROUPING = 3
