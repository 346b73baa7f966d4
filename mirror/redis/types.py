"""The types of Redis clients and of their pipelines, for annotations.

They have names of their own, so that a client for Redis Cluster can be added in one place. ``tools/mypy_redis.py``
narrows the types of their replies.
"""

from typing import TypeAlias

from redis import Redis
from redis.client import Pipeline

RedisClient: TypeAlias = Redis
RedisPipeline: TypeAlias = Pipeline
