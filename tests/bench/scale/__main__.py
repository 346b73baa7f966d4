"""Print memory, commands and the hottest node of large sites: ``python -m tests.bench.scale --readers 10000000``."""

import argparse
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping

from demo import environment
from tests.bench.scale import check, families
from tests.bench.scale.place import Load, Placement, Single, Total, place
from tests.support.servers import RedisServer, temporary_folder

SITES = "1000000 10000000 100000000"
ROWS = 24  # of the tables of families and of huge keys


def main() -> int:
    """Measure, and print the tables of each site."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.scale", description=__doc__)
    parser.add_argument("--readers", default=SITES, help="numbers of readers")
    parser.add_argument("--nodes", type=int, default=6, help="masters of the cluster")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    os.environ["DATABASE_URL"] = f"sqlite:///{temporary_folder() / 'scale.sqlite3'}"
    os.environ.update({"DJANGO_SETTINGS_MODULE": "tests.bench.pages_settings", "BENCH_SERVER": "ours"})
    os.environ.update({"REDIS_PREFIX": "", "ALLOWED_HOSTS": "testserver"})
    os.environ.update(environment.generate_environment("http://127.0.0.1"))
    with RedisServer() as redis:
        os.environ.update(redis.environment())
        import django

        django.setup()
        from django.core.management import call_command

        from tests.bench.scale.measure import Families, measure

        call_command("migrate", verbosity=0)
        known = Families()
        print("Measuring keys and commands with the data of the demo ...", file=sys.stderr)
        costs = measure(known)
    for readers in map(int, options.readers.split()):
        loads = rate(costs.pages, readers)
        placed = place(families.grow(readers), known.kinds, costs.curves, loads, options.nodes, options.seed)
        print(render(readers, placed))
    print(check.render())
    return 0


def rate(pages: Mapping[str, Mapping[str, Load]], readers: int) -> dict[str, Load]:
    """Return the load of each family in a second of the busiest hour."""
    requests = readers * families.DAILY * families.PAGES_A_DAY * families.PEAK / 86_400
    found: defaultdict[str, list[Load]] = defaultdict(list)
    for page, loads in pages.items():
        for family, load in loads.items():
            many = requests * families.PAGES[page]
            found[family].append(Load(many * load.commands, many * load.micros))
    return {family: Load(*map(sum, zip(*loads, strict=True))) for family, loads in found.items()}


def render(readers: int, placed: Placement) -> str:
    """Return the tables of one site, at most 100 columns wide. A core is a second of processor time in a second."""
    lines = [f"\n{readers:,} readers on {len(placed.nodes)} nodes\n"]
    lines.append(f"{'family':<36}{'keys':>14}{'bytes a key':>16}{'GB':>9}{'commands/s':>13}{'cores':>9}")
    whole = placed.sum_up()

    def weigh(pair: tuple[str, Total]) -> float:
        return -max(pair[1].size / whole.size, pair[1].micros / whole.micros)

    by_weight = sorted(placed.families.items(), key=weigh)
    for name, total in by_weight[:ROWS]:
        row = f"{name[:35]:<36}{total.keys:>14,.0f}{total.size / max(total.keys, 1):>16,.0f}"
        lines.append(f"{row}{total.size / 1e9:>9,.2f}{total.commands:>13,.0f}{total.micros / 1e6:>9.2f}")
    lines.append(f"{'node':<36}{'keys':>14}{'':>16}{'GB':>9}{'commands/s':>13}{'cores':>9}")
    for number, node in [*enumerate(placed.nodes), ("all", whole)]:
        mark = " (hottest)" if number == placed.hottest else ""
        row = f"{f'{number}{mark}':<36}{node.keys:>14,.0f}{'':>16}"
        lines.append(f"{row}{node.size / 1e9:>9,.2f}{node.commands:>13,.0f}{node.micros / 1e6:>9.2f}")
    return "\n".join([*lines, *_render_singles(placed)])


def _render_singles(placed: Placement) -> Iterable[str]:
    """Yield the table of the largest single keys: of each family the first one, with its share of its node."""
    head = f"{'huge key, or keys of one slot':<44}{'node':>5}{'members':>13}"
    yield f"{head}{'MB':>10}{'of node':>10}{'commands/s':>12}"
    first: dict[str, Single] = {}
    whole = placed.sum_up()
    heavy = sorted(placed.singles, key=lambda key: -max(key.size / whole.size, key.load.micros / whole.micros))
    for each in heavy:
        first.setdefault(_family_of(each.name), each)
    for each in list(first.values())[:ROWS]:
        share = each.size / max(placed.nodes[each.node].size, 1)
        row = f"{each.name[:43]:<44}{each.node:>5}{each.members:>13,.0f}"
        yield f"{row}{each.size / 1e6:>10,.1f}{share:>10.1%}{each.load.commands:>12,.0f}"


def _family_of(name: str) -> str:
    return "".join(" " if letter.isdigit() else letter for letter in name)


if __name__ == "__main__":
    sys.exit(main())
