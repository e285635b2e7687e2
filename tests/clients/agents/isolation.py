"""The environment a command-line agent runs in: its own home, no proxy, no caller's settings."""

import os
import pathlib


def environment(home: pathlib.Path, **extra: str) -> dict:
    """A minimal environment; nothing of the machine's own accounts or keys reaches the client."""
    home.mkdir(parents=True, exist_ok=True)
    base = {
        "PATH": os.environ.get("PATH", "/usr/local/bin:/usr/bin:/bin"),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "NO_PROXY": "127.0.0.1,localhost",
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "TMPDIR": str(home),
    }
    return {**base, **extra}
