"""Aider, loaded once. Reads a session per line from standard input, and runs each in a process of its own.

Its packages take most of a session to load. Each session begins as a copy of the loaded program.
"""

import contextlib
import json
import os
import signal
import sys
import time
import traceback

# Aider loads it when a session first asks a model.
import litellm  # noqa: F401
from aider.main import main as aider


def become(session: dict) -> None:
    """Takes on the session's group, time limit, directory, environment and files."""
    os.setsid()
    signal.alarm(session["timeout"])
    os.chdir(session["cwd"])
    os.environ.clear()
    os.environ.update(session["env"])
    for number, path, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, session["stdout"], os.O_WRONLY | os.O_CREAT),
        (2, session["stderr"], os.O_WRONLY | os.O_CREAT),
    ):
        os.dup2(os.open(path, flags, 0o600), number)


def play(session: dict) -> None:
    """Runs Aider as `python -m aider` does, and ends the process."""
    code = 1
    try:
        become(session)
        code = aider(session["argv"]) or 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    # The packages print what they like; the answers go to where the harness listens.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        session = json.loads(line)
        started = time.monotonic()
        child = os.fork()
        if child == 0:
            play(session)
        _, status = os.waitpid(child, 0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        timed_out = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM
        code = os.waitstatus_to_exitcode(status)
        print(json.dumps({"code": code, "seconds": time.monotonic() - started, "timed_out": timed_out}), file=answers, flush=True)


main()
