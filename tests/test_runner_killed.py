"""The runner of ``make demo`` is killed while one of its processes produces much output."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.support.servers import wait_until

RUNNER = """
import sys
from tools.devserver.runner import QuietPrinter, StoppableManager
crew = StoppableManager(QuietPrinter(sys.stdout))
crew.add_process("loud", sys.argv[1])
crew.loop()
"""
# After the death of the runner, write many times the capacity of a pipe.
LOUD = "echo $$ > {pids}; while kill -0 {runner} 2>/dev/null; do sleep 0.05; done; yes | head -c 400000"


def helper_of(runner: int) -> int | None:
    """Return the process that forwards the output of the loud process."""
    found = Path(f"/proc/{runner}/task/{runner}/children").read_text().split()
    return int(found[0]) if found else None


def is_over(pid: int) -> bool:
    """Return whether a process has ended, including a zombie that its new parent has not waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_forwarding_process_ends_when_its_output_is_not_read(tmp_path: Path) -> None:
    pids = tmp_path / "loud"
    command = LOUD.format(pids=pids, runner="$PPID_OF_ALL")
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    script = f"import os; os.environ['PPID_OF_ALL'] = str(os.getpid())\n{RUNNER}"
    runner = subprocess.Popen([sys.executable, "-c", script, command], env=environment, stdout=subprocess.DEVNULL)
    wait_until(pids.exists, "the loud one")
    helper = helper_of(runner.pid)
    assert helper is not None
    os.kill(runner.pid, signal.SIGKILL)
    runner.wait()
    wait_until(lambda: is_over(helper), "the helper's end", 60)
