"""Move a reader's library in and out: imports from other services, with a dry run and undo, and exports."""
