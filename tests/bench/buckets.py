"""One large key on three masters of a cluster, in 1 and in 16 buckets: ``python -m tests.bench.buckets``.

It prints, for each number of buckets, the time of writes and reads of ``login:``, and for each master its commands and
bytes. The commands of a master are the honest figure: one machine and one client cannot show the sum of three masters.
"""

import os
import random
import time
from collections.abc import Sequence
from hashlib import sha256

from demo import environment
from tests.support.servers import temporary_folder
from tests.support.servers.cluster import RedisCluster

MEMBERS = 100_000
BATCH = 500  # members written in one round trip
READS = 100  # members read in one round trip
ROUNDS = 500
COMMANDS = ("hset", "hget")


def main() -> None:
    """Measure, and print the table."""
    with RedisCluster() as cluster:
        os.environ.update(environment.generate_environment("http://127.0.0.1"))
        os.environ.update({"DJANGO_SETTINGS_MODULE": "tests.bench.settings", "REDIS_PREFIX": ""})
        os.environ.update(REDIS_URL=cluster.url, DATABASE_URL=f"sqlite:///{temporary_folder() / 'bench.sqlite3'}")
        import django

        django.setup()
        print(f"{'buckets':>7}{'writes/s':>10}{'reads/s':>10}   commands and MB of each master")
        for buckets in (1, 16):
            print(_measure(cluster, buckets))


def _measure(cluster: RedisCluster, buckets: int) -> str:
    from accounts import keys
    from mirror import OwnField
    from mirror.comparison import plan
    from mirror.declare.buckets import find_bucket_key
    from mirror.redis.clients import relay_client

    cluster.flush()
    for one in cluster.clients:
        one.config_resetstat()
    empty = [int(one.info("memory")["used_memory"]) for one in cluster.clients]
    digests = [sha256(b"%d" % number).hexdigest() for number in range(MEMBERS)]
    redis, draw = relay_client(), random.Random(0)

    def send(commands: Sequence[Sequence[object]]) -> None:
        pipe = redis.pipeline(transaction=False)
        for command in commands:
            pipe.execute_command(*command)
        pipe.execute()

    began = time.perf_counter()
    for start in range(0, MEMBERS, BATCH):
        fields = [OwnField(find_bucket_key(keys.tokens(), d, buckets), d, "7") for d in digests[start : start + BATCH]]
        send(plan.commands([], fields))
    written = time.perf_counter()
    for _ in range(ROUNDS):
        asked = draw.sample(digests, READS)
        send([("HGET", find_bucket_key(keys.tokens(), digest, buckets), digest) for digest in asked])
    ended = time.perf_counter()
    shares = []
    for one, before in zip(cluster.clients, empty, strict=True):
        stats = one.info("commandstats")
        count = sum(stats.get(f"cmdstat_{name}", {}).get("calls", 0) for name in COMMANDS)
        shares.append(f"{count:,} and {(int(one.info('memory')['used_memory']) - before) / 1e6:.1f}")
    writes, reads = MEMBERS / (written - began), ROUNDS * READS / (ended - written)
    return f"{buckets:>7}{writes:>10,.0f}{reads:>10,.0f}   {'; '.join(shares)}"


if __name__ == "__main__":
    main()
