"""A client for Redis Cluster with the interface of redis-py's ``Redis``, so that other code need not know of it.

redis-py's ``NodesManager`` knows the masters of the slots. A *cluster connection* stands for one connection: it sends
each command to the master of its slot, all masters in one round trip, and returns the replies in order. Commands that
redis-py would refuse in a pipeline (MGET, DEL and EXISTS of several slots) are divided by slot. Transactions and all
other commands must name keys of one slot, or ClusterCrossSlotError is raised before anything is sent.

The *incarnation* of a cluster is computed from those of all its masters, so a restarted, replaced or promoted master
changes it. A cluster connection refuses servers that do not belong to the incarnation in which it began.
"""

import hashlib
from collections import defaultdict
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

from redis import Redis
from redis.client import EMPTY_RESPONSE
from redis.exceptions import AskError, MovedError, NoScriptError, RedisError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from mirror.cluster.pieces import Piece, Sent
from mirror.cluster.pipeline import ClusterPipeline
from mirror.cluster.routing import Router
from mirror.cluster.topology import Topology
from mirror.redis import quick, recorder, scripts
from mirror.redis.keys import prefix
from mirror.redis.keys.slots import place_in_slot
from mirror.redis.pool import LearningConnection, MirrorPool, incarnation_of, parse_info
from mirror.redis.session import Command, get_pool
from mirror.redis.types import RedisClient, RedisPipeline

REDIRECTIONS: Final = 5  # of one command, while slots move


class Replaced(RedisConnectionError):
    """A server does not belong to the incarnation of the cluster in which a connection began."""


def compute_digest(incarnations: Iterable[str]) -> str:
    """Return the incarnation of a cluster with masters of these incarnations, or "" if one is unknown."""
    known = sorted(incarnations)
    if "" in known:
        return ""
    return "cluster:" + hashlib.sha256("|".join(known).encode()).hexdigest()[:32]


class ClusterPool(MirrorPool):
    """Takes the place of a pool: its connections are cluster connections.

    topology: shared with pools that add other prefixes.
    """

    of_cluster = True

    def __init__(self, topology: Topology, command_packer: prefix.Packer | None = None) -> None:
        self.topology = topology
        super().__init__(command_packer=command_packer, **topology.options)

    @property
    def incarnation(self) -> str:
        """Return the incarnation of the cluster as its newest connections know it, or "" if it is unknown."""
        # Otherwise the list of the masters would ask a node.
        if not self.topology.is_known:
            return ""
        return compute_digest(self.topology.read_incarnations().values())

    @incarnation.setter
    def incarnation(self, value: str) -> None:
        """Forget the incarnations of all masters. Only "" can be set."""
        for name in self.topology.list_masters():
            self.topology.get_pool(name).incarnation = value

    def ask_incarnation(self, redis: RedisClient) -> str:
        self.topology.refresh()
        for name in self.topology.list_masters():
            _learn_incarnation(self.topology.get_pool(name))
        return self.incarnation

    def list_servers(self, redis: RedisClient) -> dict[str, RedisClient]:
        names = self.topology.list_masters()
        return {name: Redis(connection_pool=self.topology.get_pool(name)) for name in names}

    def list_probe_keys(self) -> list[str]:
        return [place_in_slot(slot, "probe") for slot in self.topology.list_slots()]

    def get_connection(self, *args: Any, **kwargs: Any) -> Any:
        return ClusterConnection(self)

    def release(self, connection: Any) -> None:
        connection.give_back()

    def prefixed(self, redis: RedisClient, text: str) -> RedisClient:
        if text not in self._prefixed:
            packer = prefix.Packer(text)
            made = ClusterClient(connection_pool=type(self)(self.topology, packer))
            # Another thread may have made one meanwhile, which callers already have.
            self._prefixed.setdefault(text, prefix.strip_replies(made, packer))
        return self._prefixed[text]

    def disconnect(self, inuse_connections: bool = True) -> None:
        self.topology.close_connections(inuse_connections)


def _learn_incarnation(pool: MirrorPool) -> None:
    """Ask a master for its incarnation."""
    connection = pool.get_connection()
    try:
        connection.push([("INFO", "server"), ("INFO", "replication")])
        replies = connection.collect(2)
    finally:
        pool.release(connection)
    server, replication = [parse_info(reply) for reply in replies]
    found = incarnation_of(server | replication)
    if found != pool.incarnation:
        # Idle connections have learned the former incarnation, and would be refused.
        pool.disconnect(inuse_connections=False)
        pool.incarnation = found


class ClusterConnection:
    """Connections to the masters, as one. It is used by one thread, and given back after use."""

    def __init__(self, pool: ClusterPool) -> None:
        self._topology = pool.topology
        self._packer = pool.packer
        known = self._topology.read_incarnations()
        if "" in known.values():
            pool.ask_incarnation(ClusterClient(connection_pool=pool))
            known = self._topology.read_incarnations()
        self._admitted = set(known.values())
        self.incarnation = compute_digest(self._admitted)
        self._held: dict[str, LearningConnection] = {}
        self._sent: list[Sent] = []
        self._router = Router(self._topology)

    def post(self, commands: Sequence[Command]) -> None:
        """Send all commands, each to the master of its slot."""
        recorder.redis_sent(commands)
        self.push(commands)

    def push(self, commands: Sequence[Command]) -> None:
        """Do the same as ``post`` without recording the commands."""
        renamed = [self._rename_keys(command) for command in commands]
        self._sent = self._router.route_commands(renamed)
        self._send_pieces(self._list_pieces())

    def collect(self, count: int) -> list[Any]:
        """Return the replies to the posted commands in order. Errors among them are returned, not raised."""
        assert len(self._sent) == count
        pieces = self._list_pieces()
        try:
            self._read_replies(pieces)
            for _ in range(REDIRECTIONS):
                again: list[Piece] = []
                for piece in pieces:
                    if not piece.is_fixed:
                        again += self._redirect_piece(piece)
                if not again:
                    break
                self._send_pieces(again)
                self._read_replies(again)
        except BaseException:
            # Also at KeyboardInterrupt: an unread reply would be taken for that to the next command.
            self.disconnect()
            raise
        for piece in pieces:
            # Pieces of transactions were not redirected. Their callers repeat all of it, at the new node.
            if isinstance(piece.reply, MovedError):
                self._topology.note_move(piece.reply)
        return [sent.combine_reply() for sent in self._sent]

    def disconnect(self) -> None:
        """Close the connections, which ends their watches and pending replies."""
        for connection in self._held.values():
            connection.disconnect()

    def give_back(self) -> None:
        """Return the connections to their pools."""
        held = self._held
        self._held = {}
        for name, connection in held.items():
            with suppress(RedisError):
                self._topology.get_pool(name).release(connection)

    def _list_pieces(self) -> list[Piece]:
        return [piece for sent in self._sent for piece in sent.pieces]

    def _rename_keys(self, command: Command) -> Command:
        """Return a command with the prefix of this connection, and with two words for names like "SCRIPT LOAD"."""
        name = command[0]
        words = name.split() if isinstance(name, str) else [name]
        split = (*words, *command[1:])
        return tuple(self._packer.rename(split)) if self._packer else split

    def _borrow_connection(self, node: str) -> LearningConnection:
        """Return this connection's own connection to a node.

        Raises Replaced if the node's server is not of the incarnation in which this connection began.
        """
        found = self._held.get(node)
        if found is None:
            with self._noting_failure(node):
                found = self._topology.get_pool(node).get_connection()
            self._held[node] = found
            if found.incarnation not in self._admitted:
                raise Replaced(f"{node} has another incarnation")
        return found

    def _send_pieces(self, pieces: Sequence[Piece]) -> None:
        by_node = _group_by_node(pieces)
        # All connections before the first command: a node that is away is noticed before another one has written.
        connections = {node: self._borrow_connection(node) for node in by_node}
        for node, connection in connections.items():
            with self._noting_failure(node):
                connection.push([piece.command for piece in by_node[node]])

    def _read_replies(self, pieces: Sequence[Piece]) -> None:
        for node, found in _group_by_node(pieces).items():
            with self._noting_failure(node):
                replies = self._held[node].collect(len(found))
            for piece, reply in zip(found, replies, strict=True):
                piece.reply = reply

    def _redirect_piece(self, piece: Piece) -> list[Piece]:
        """Return what to send again if a piece's slot has moved or its script is unknown."""
        reply = piece.reply
        if isinstance(reply, NoScriptError) and piece.command[0] == "EVALSHA":
            _, digest, *args = piece.command
            if digest not in scripts.texts:
                return []
            piece.command = ("EVAL", scripts.texts[digest], *args)
            return [piece]
        if isinstance(reply, MovedError):
            self._topology.note_move(reply)
            piece.node = self._topology.get_node(reply.slot_id)
            return [piece]
        if isinstance(reply, AskError):
            # The slot is on its way: only this command, and only after ASKING, is accepted by the new node.
            piece.node = f"{reply.host}:{reply.port}"
            return [Piece(piece.node, ("ASKING",)), piece]
        return []

    @contextmanager
    def _noting_failure(self, node: str) -> Generator[None, None, None]:
        """Ask the other nodes for the slots after a failure: another master may have taken those of ``node`` over."""
        try:
            yield
        except (RedisConnectionError, RedisTimeoutError):
            self.disconnect()
            with suppress(RedisError):
                self._topology.refresh(node)
            raise


def _group_by_node(pieces: Sequence[Piece]) -> dict[str, list[Piece]]:
    by_node: dict[str, list[Piece]] = defaultdict(list)
    for piece in pieces:
        by_node[piece.node].append(piece)
    return by_node


class ClusterClient(Redis):
    """A client with a ClusterPool."""

    def execute_command(self, *args: Any, **options: Any) -> Any:
        (reply,) = quick.ask(get_pool(self), [args])
        if isinstance(reply, Exception):
            raise reply
        options.pop(EMPTY_RESPONSE, None)
        return quick.read_reply(self, args[0], options, reply)

    def pipeline(self, transaction: bool = True, shard_hint: Any = None) -> RedisPipeline:
        return ClusterPipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)
