"""Redis Cluster: a client, slots, and drains without transactions over several slots."""
