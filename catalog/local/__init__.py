"""The copy of the tag index that each process keeps."""
