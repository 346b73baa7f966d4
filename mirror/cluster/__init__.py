"""Redis Cluster: a client for several servers. Drains on a cluster belong to the relay (``mirror.relay.fenced``)."""
