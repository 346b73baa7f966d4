"""Support for the tests of deployment."""
