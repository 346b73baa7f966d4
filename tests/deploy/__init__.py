"""Tests of deployment and operation: backups, the files of `deploy/`, stops and restarts."""
