"""Support for the tests: servers, fixtures, sample data and helpers, one idea a file."""
