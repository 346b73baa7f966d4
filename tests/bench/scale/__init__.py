"""The arithmetic of large sites: keys, memory and commands on the nodes of a cluster (``make scale``)."""
