"""Authors: merging duplicates, and the names and addresses of merged ones."""
