"""Relations between readers: profiles, lists, blocks, mutes and suggestions."""
