"""The audit log. To write to it: ``accounts.audit.log``."""
