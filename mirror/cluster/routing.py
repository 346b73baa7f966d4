"""The nodes of a cluster that get the commands of one connection."""

from collections import defaultdict
from collections.abc import Sequence

from redis.exceptions import ClusterCrossSlotError

from mirror.cluster.pieces import EVERYWHERE, MASTERS, Piece, Sent, combine_scan, combine_values
from mirror.cluster.topology import Topology
from mirror.redis import naming
from mirror.redis.keys.positions import key_positions, name_of
from mirror.redis.keys.slots import DIVIDED, slot_of
from mirror.redis.session import Command


class Router:
    """Decides which nodes get which commands. All methods raise ClusterCrossSlotError."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._watched: str | None = None  # the node with the connection's watches

    def route_commands(self, commands: Sequence[Command]) -> list[Sent]:
        """Return what to send for these commands, in their order."""
        routed: list[Sent] = []
        place = 0
        while place < len(commands):
            if commands[place][0] == "MULTI":
                end = _find_exec(commands, place)
                routed += self._route_transaction(commands[place : end + 1])
                place = end + 1
            else:
                routed.append(self._route_command(commands[place]))
                place += 1
        return routed

    def _route_transaction(self, block: Sequence[Command]) -> list[Sent]:
        # MULTI and EXEC name no keys: they follow the commands between them.
        node = self._find_node(block)
        return [Sent([Piece(node, command, is_fixed=True)]) for command in block]

    def _route_command(self, command: Command) -> Sent:
        name = name_of(command)
        if name == "SCAN":
            return self._route_scan(command)
        if name in EVERYWHERE:
            pieces = [Piece(node, command) for node in self._topology.list_masters()]
            return Sent(pieces, EVERYWHERE[name])
        if name == "UNWATCH":
            return Sent([Piece(self._watched or self._find_home(), command, is_fixed=True)])
        if name in DIVIDED and len(key_positions(command)) > 1:
            return self._divide_command(name, command)
        node = self._find_node([command])
        # A watch at another node would not be that of the transaction, so it is never redirected.
        is_watch = name == "WATCH"
        if is_watch:
            self._watched = node
        return Sent([Piece(node, command, is_fixed=is_watch)])

    def _divide_command(self, name: str, command: Command) -> Sent:
        """Return a piece for each slot, because a node refuses keys of several slots even if it has them all."""
        keys = command[1:]
        places: dict[int, list[int]] = defaultdict(list)
        for place, key in enumerate(keys):
            places[slot_of(key)].append(place)
        pieces = []
        for slot, places_of_slot in places.items():
            keys_of_slot = [keys[place] for place in places_of_slot]
            pieces.append(Piece(self._topology.get_node(slot), (name, *keys_of_slot)))
        combine = combine_values(list(places.values())) if name == "MGET" else sum
        return Sent(pieces, combine)

    def _route_scan(self, command: Command) -> Sent:
        """Scan one master after the other. The cursor contains the number of the master."""
        cursor, number = divmod(int(command[1]), MASTERS)
        masters = self._topology.list_masters()
        # A master may have left the cluster since the last step.
        number = min(number, len(masters) - 1)
        piece = Piece(masters[number], ("SCAN", cursor, *command[2:]))
        return Sent([piece], combine_scan(number, len(masters)))

    def _find_node(self, commands: Sequence[Command]) -> str:
        """Return the master of the slot of these commands, or of the markers' slot if they name no key."""
        slots = set()
        for command in commands:
            for position in key_positions(command):
                slots.add(slot_of(command[position]))
        if len(slots) > 1:
            raise ClusterCrossSlotError(f"{name_of(commands[-1])} names keys of several slots: {commands!r:.500}")
        return self._topology.get_node(slots.pop()) if slots else self._find_home()

    def _find_home(self) -> str:
        return self._topology.get_node(slot_of(naming.heartbeat()))


def _find_exec(commands: Sequence[Command], start: int) -> int:
    """Return the position of the EXEC that ends the transaction which begins here."""
    for place in range(start, len(commands)):
        if commands[place][0] == "EXEC":
            return place
    raise AssertionError("a transaction has no EXEC")
