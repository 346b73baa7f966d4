"""Support code for the tests: servers, fixtures, sample data and helpers, one subject per module."""
