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
from redis.client import EMPTY_RESPONSE, Pipeline
from redis.exceptions import (
    AskError,
    ClusterCrossSlotError,
    MovedError,
    NoScriptError,
    RedisError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from mirror.cluster.pieces import EVERYWHERE, MASTERS, Piece, Sent, combine_scan, combine_values
from mirror.cluster.topology import Topology
from mirror.redis import naming, quick, recorder, scripts
from mirror.redis.keys import prefix
from mirror.redis.keys.positions import key_positions, name_of
from mirror.redis.keys.slots import DIVIDED, place_in_slot, slot_of
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
        return compute_digest(self.topology.incarnations().values()) if self.topology.is_known else ""

    @incarnation.setter
    def incarnation(self, value: str) -> None:
        """Forget the incarnations of all masters. Only "" can be set."""
        for name in self.topology.masters():
            self.topology.pool(name).incarnation = value

    def ask_incarnation(self, redis: RedisClient) -> str:
        self.topology.refresh()
        for name in self.topology.masters():
            _learn(self.topology.pool(name))
        return self.incarnation

    def list_servers(self, redis: RedisClient) -> dict[str, RedisClient]:
        return {name: Redis(connection_pool=self.topology.pool(name)) for name in self.topology.masters()}

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
            self._prefixed.setdefault(text, prefix.strip_replies(made, packer))
        return self._prefixed[text]

    def disconnect(self, inuse_connections: bool = True) -> None:
        self.topology.close(inuse_connections)


def _learn(pool: MirrorPool) -> None:
    """Ask a master for its incarnation."""
    connection = pool.get_connection()
    try:
        connection.push([("INFO", "server"), ("INFO", "replication")])
        server, replication = map(parse_info, connection.collect(2))
    finally:
        pool.release(connection)
    found = incarnation_of(server | replication)
    if found != pool.incarnation:
        pool.disconnect(inuse_connections=False)
        pool.incarnation = found


class ClusterConnection:
    """Connections to the masters, as one. It is used by one thread, and given back after use."""

    def __init__(self, pool: ClusterPool) -> None:
        self._topology, self._packer = pool.topology, pool.packer
        known = self._topology.incarnations()
        if "" in known.values():
            pool.ask_incarnation(ClusterClient(connection_pool=pool))
            known = self._topology.incarnations()
        self._admitted = set(known.values())
        self.incarnation = compute_digest(self._admitted)
        self._held: dict[str, LearningConnection] = {}
        self._sent: list[Sent] = []
        self._watched: str | None = None  # the node with this connection's watches

    def post(self, commands: Sequence[Command]) -> None:
        """Send all commands, each to the master of its slot."""
        recorder.redis_sent(commands)
        self.push(commands)

    def push(self, commands: Sequence[Command]) -> None:
        """Do the same as ``post`` without recording the commands."""
        self._sent = self._route([self._rename(command) for command in commands])
        self._send([piece for sent in self._sent for piece in sent.pieces])

    def collect(self, count: int) -> list[Any]:
        """Return the replies to the posted commands in order. Errors among them are returned, not raised."""
        assert len(self._sent) == count
        pieces = [piece for sent in self._sent for piece in sent.pieces]
        try:
            self._read(pieces)
            for _ in range(REDIRECTIONS):
                again = [new for piece in pieces if not piece.is_fixed for new in self._redirect(piece)]
                if not again:
                    break
                self._send(again)
                self._read(again)
        except BaseException:
            self.disconnect()
            raise
        for piece in pieces:  # of transactions, which their callers repeat
            if isinstance(piece.reply, MovedError):
                self._topology.move(piece.reply)
        return [sent.reply() for sent in self._sent]

    def disconnect(self) -> None:
        """Close the connections, which ends their watches and pending replies."""
        for connection in self._held.values():
            connection.disconnect()

    def give_back(self) -> None:
        """Return the connections to their pools."""
        held, self._held = self._held, {}
        for name, connection in held.items():
            with suppress(RedisError):
                self._topology.pool(name).release(connection)

    def _rename(self, command: Command) -> Command:
        words = str(command[0]).split() if isinstance(command[0], str) else [command[0]]
        split = (*words, *command[1:])
        return tuple(self._packer.rename(split)) if self._packer else split

    def _route(self, commands: Sequence[Command]) -> list[Sent]:
        """Decide which nodes get which commands. Raises ClusterCrossSlotError."""
        routed: list[Sent] = []
        place = 0
        while place < len(commands):
            if commands[place][0] == "MULTI":
                end = next(i for i in range(place, len(commands)) if commands[i][0] == "EXEC")
                block = commands[place : end + 1]
                node = self._node_of_all(block)
                routed += [Sent([Piece(node, command, is_fixed=True)]) for command in block]
                place = end + 1
            else:
                routed.append(self._route_one(commands[place]))
                place += 1
        return routed

    def _route_one(self, command: Command) -> Sent:
        name = name_of(command)
        if name == "SCAN":
            return self._route_scan(command)
        if name in EVERYWHERE:
            return Sent([Piece(node, command) for node in self._topology.masters()], EVERYWHERE[name])
        if name == "UNWATCH":
            return Sent([Piece(self._watched or self._home(), command, is_fixed=True)])
        positions = key_positions(command)
        if len(positions) > 1 and name in DIVIDED:
            return self._divide(name, command)
        node = self._node_of_all([command])
        if name == "WATCH":
            self._watched = node
        return Sent([Piece(node, command, is_fixed=name == "WATCH")])

    def _divide(self, name: str, command: Command) -> Sent:
        places: dict[int, list[int]] = defaultdict(list)
        for place, key in enumerate(command[1:]):
            places[slot_of(key)].append(place)
        pieces = [
            Piece(self._topology.node_of(slot), (name, *(command[1 + place] for place in found)))
            for slot, found in places.items()
        ]
        return Sent(pieces, combine_values(list(places.values())) if name == "MGET" else sum)

    def _route_scan(self, command: Command) -> Sent:
        """Scan one master after the other. The cursor contains the number of the master."""
        cursor, number = divmod(int(command[1]), MASTERS)
        masters = self._topology.masters()
        number = min(number, len(masters) - 1)
        return Sent([Piece(masters[number], ("SCAN", cursor, *command[2:]))], combine_scan(number, len(masters)))

    def _node_of_all(self, commands: Sequence[Command]) -> str:
        """Return the master of the slot of these commands, or of the markers' slot if they name no key."""
        slots = {slot_of(command[position]) for command in commands for position in key_positions(command)}
        if len(slots) > 1:
            raise ClusterCrossSlotError(f"{name_of(commands[-1])} names keys of several slots: {commands!r:.500}")
        return self._topology.node_of(slots.pop()) if slots else self._home()

    def _home(self) -> str:
        return self._topology.node_of(slot_of(naming.heartbeat()))

    def _borrow(self, node: str) -> LearningConnection:
        """Return this connection's own connection to a node.

        Raises Replaced if the node's server is not of the incarnation in which this connection began.
        """
        found = self._held.get(node)
        if found is None:
            with self._noting_failure(node):
                found = self._held[node] = self._topology.pool(node).get_connection()
            if found.incarnation not in self._admitted:
                raise Replaced(f"{node} has another incarnation")
        return found

    def _send(self, pieces: Sequence[Piece]) -> None:
        by_node: dict[str, list[Command]] = defaultdict(list)
        for piece in pieces:
            by_node[piece.node].append(piece.command)
        connections = [(node, self._borrow(node), commands) for node, commands in by_node.items()]
        for node, connection, commands in connections:
            with self._noting_failure(node):
                connection.push(commands)

    def _read(self, pieces: Sequence[Piece]) -> None:
        by_node: dict[str, list[Piece]] = defaultdict(list)
        for piece in pieces:
            by_node[piece.node].append(piece)
        for node, found in by_node.items():
            with self._noting_failure(node):
                replies = self._held[node].collect(len(found))
            for piece, reply in zip(found, replies, strict=True):
                piece.reply = reply

    def _redirect(self, piece: Piece) -> list[Piece]:
        """Return what to send again if a piece's slot has moved or its script is unknown."""
        reply = piece.reply
        if isinstance(reply, NoScriptError) and piece.command[0] == "EVALSHA" and piece.command[1] in scripts.texts:
            piece.command = ("EVAL", scripts.texts[piece.command[1]], *piece.command[2:])
            return [piece]
        if isinstance(reply, MovedError):
            self._topology.move(reply)
            piece.node = self._topology.node_of(reply.slot_id)
            return [piece]
        if isinstance(reply, AskError):
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


class ClusterPipeline(Pipeline):
    """A pipeline of a cluster client. As a transaction, its keys must be in one slot."""

    def __init__(self, pool: Any, callbacks: Any, transaction: bool, shard_hint: Any) -> None:
        super().__init__(pool, callbacks, transaction, shard_hint)
        self._is_transaction = transaction

    def execute(self, raise_on_error: bool = True) -> list[Any]:
        stack, commands = self.command_stack, [args for args, _ in self.command_stack]
        try:
            if self._is_transaction and commands:
                *queued, replies = quick.ask(get_pool(self), [("MULTI",), *commands, ("EXEC",)])
                for reply in (*queued, replies):
                    if isinstance(reply, Exception):
                        raise reply
            else:
                replies = quick.ask(get_pool(self), commands)
            for reply in replies:
                if raise_on_error and isinstance(reply, Exception):
                    raise reply
            return [
                reply if isinstance(reply, Exception) else quick.read_reply(self, args[0], options, reply)
                for (args, options), reply in zip(stack, replies, strict=True)
            ]
        finally:
            self.reset()
