"""Child processes that cannot outlive their time limit.

Every child gets its own process group, so that what it started (a shell, a language
server, a second binary) dies with it.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import queue
import signal
import subprocess
import threading
import time


@dataclasses.dataclass
class Finished:
    """What a bounded command left behind."""

    code: int
    stdout: str
    stderr: str
    seconds: float
    timed_out: bool

    def tail(self, limit: int = 1500) -> str:
        """The end of both streams, for a failure message."""
        words = "timed out" if self.timed_out else f"exit {self.code}"
        return f"{words}\n{self.stdout[-limit:]}\n{self.stderr[-limit:]}".strip()


def kill_group(child: subprocess.Popen) -> None:
    """Ends the child and everything it started; politely first, so that a server can close its files."""
    for sign, patience in ((signal.SIGTERM, 3), (signal.SIGKILL, 5)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, sign)
        try:
            child.wait(patience)
        except subprocess.TimeoutExpired:
            continue
        break
    # The leader may be gone while its children are not.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)


def keep_niceness(pid: int) -> None:
    """Linux gives each session a share of the processor, whatever the niceness of its programs."""
    if niceness := os.nice(0):
        with contextlib.suppress(OSError):
            pathlib.Path(f"/proc/{pid}/autogroup").write_text(str(niceness))


def run(argv, *, timeout: float, cwd=None, env=None, stdin: str = "") -> Finished:
    """Runs a command to its end or to its time limit, whichever is first."""
    started = time.monotonic()
    child = subprocess.Popen(
        [str(part) for part in argv],
        cwd=cwd,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    keep_niceness(child.pid)
    try:
        stdout, stderr = child.communicate(stdin.encode(), timeout=timeout)
        late = False
    except subprocess.TimeoutExpired:
        late = True
        kill_group(child)
        stdout, stderr = child.communicate()
    finally:
        kill_group(child)
    return Finished(
        code=child.returncode,
        stdout=stdout.decode(errors="replace"),
        stderr=stderr.decode(errors="replace"),
        seconds=time.monotonic() - started,
        timed_out=late,
    )


class Server:
    """A server child whose first line on stdout is `{"event":"ready",…}`."""

    def __init__(self, name: str, argv, log: pathlib.Path, env=None) -> None:
        self.name = name
        self.log = log
        self._log_file = log.open("wb")
        self.child = subprocess.Popen(
            [str(part) for part in argv],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._log_file,
            start_new_session=True,
        )
        self._lines: queue.Queue = queue.Queue()
        threading.Thread(target=self._pump, daemon=True).start()

    def _pump(self) -> None:
        """Keeps stdout drained: a server that blocks on a full pipe would look like a hang."""
        for line in self.child.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def ready(self, timeout: float = 30) -> dict:
        """Waits for the ready line; raises with the log's end where it does not come."""
        for line in self.lines(timeout):
            with contextlib.suppress(ValueError):
                event = json.loads(line)
                if isinstance(event, dict) and event.get("event") == "ready":
                    return event

    def printed(self, last: str, timeout: float = 30) -> str:
        """What it prints for people, up to the line that begins with `last`."""
        text = ""
        for line in self.lines(timeout):
            text += line.decode()
            if line.decode().startswith(last):
                return text

    def lines(self, timeout: float):
        """Its lines as they come; raises with the log's end where one is late."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                line = self._lines.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                line = None
            if line is None:
                tail = self.log.read_text(errors="replace")[-3000:]
                self.stop()
                raise RuntimeError(f"{self.name} never said it was ready:\n{tail}")
            yield line

    def alive(self) -> bool:
        return self.child.poll() is None

    def stop(self) -> None:
        kill_group(self.child)
        self._log_file.close()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_exc) -> None:
        self.stop()
