"""The audit log. ``accounts.audit.log`` writes its events."""
