"""Installs the clients from their registries, by pinned version, once.

Each set lives under `target/clients/` in a directory named by the hash of the file
that pins it, so an unchanged pin costs nothing and a changed one never meets the
leftovers of the old.
"""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

from . import process

HERE = pathlib.Path(__file__).resolve().parent.parent
REPO = HERE.parent.parent
# A fresh machine may fetch 700 MB over a slow line.
INSTALL_TIMEOUT = 900
# Two cores may be busy with other builds.
BUILD_TIMEOUT = 2_400


def target_dir() -> pathlib.Path:
    """Where Cargo puts what it builds; the clients' packages go beside that."""
    base = os.environ.get("CARGO_TARGET_DIR")
    return (pathlib.Path(base) if base else REPO / "target") / "clients"


def digest(*files: pathlib.Path) -> str:
    state = hashlib.sha256(f"python {sys.version_info[:2]}".encode())
    for path in files:
        state.update(path.read_bytes())
    return state.hexdigest()[:16]


@contextlib.contextmanager
def locked(place: pathlib.Path):
    """One installer per place, also across two runs of the tests at once."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{place}.lock", "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _checked(what: str, argv, timeout=INSTALL_TIMEOUT, **kwargs) -> None:
    done = process.run(argv, timeout=timeout, **kwargs)
    if done.code != 0 or done.timed_out:
        raise RuntimeError(f"{what} failed: {done.tail(4000)}")


def venv(name: str) -> pathlib.Path:
    """The Python of a virtual environment holding `requirements/<name>.txt`."""
    wanted = HERE / "requirements" / f"{name}.txt"
    place = target_dir() / f"py-{name}-{digest(wanted)}"
    python = place / "bin" / "python"
    with locked(place):
        if not (place / ".complete").exists():
            shutil.rmtree(place, ignore_errors=True)
            _checked(f"venv {name}", [sys.executable, "-m", "venv", place])
            pip = [python, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
            # Python compiles what is imported; the rest, which is most, needs no bytecode.
            _checked(f"pip install {name}", [*pip, "--no-compile", "-r", wanted])
            (place / ".complete").touch()
    return python


def npm(name: str) -> pathlib.Path:
    """A directory whose `node_modules` is what `js/<name>/` says: its lock file, where it has one."""
    source = HERE / "js" / name
    lock = source / "package-lock.json"
    pins = [source / "package.json", *([lock] if lock.exists() else [])]
    verb = "ci" if lock.exists() else "install"
    place = target_dir() / f"js-{name}-{digest(*pins)}"
    with locked(place):
        if not (place / ".complete").exists():
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            for pin in pins:
                shutil.copy(pin, place)
            argv = ["npm", verb, "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
            _checked(f"npm {verb} {name}", argv, cwd=place)
            (place / ".complete").touch()
    return place


def cargo(name: str) -> pathlib.Path:
    """The program of the Rust package `rust/<name>/`, as its lock file pins it."""
    source = HERE / "rust" / name
    pins = [source / "Cargo.toml", source / "Cargo.lock", *sorted((source / "src").glob("*.rs"))]
    place = target_dir() / f"rust-{name}-{digest(*pins)}"
    program = place / name
    with locked(place):
        if not program.exists():
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            build = place / "build"
            # Other clients are at work meanwhile, and come first.
            nice = ["nice", "-n", "19"] if shutil.which("nice") else []
            argv = [*nice, "cargo", "build", "--quiet", "--locked", "--manifest-path", source / "Cargo.toml"]
            _checked(f"cargo build {name}", [*argv, "--target-dir", build], BUILD_TIMEOUT)
            # The package has one program; what it is made of takes a gigabyte.
            (built,) = [path for path in (build / "debug").iterdir() if path.is_file() and os.access(path, os.X_OK)]
            shutil.copy(built, program)
            shutil.rmtree(build)
    return program


def derived(place: pathlib.Path, script: pathlib.Path) -> None:
    """Runs a script once on an installed directory, and again when the script changed."""
    mark = place / f".{script.stem}-{digest(script)}"
    with locked(place):
        if not mark.exists():
            _checked(script.name, ["node", script, place])
            mark.touch()


def platform_binary(modules: pathlib.Path, package: str) -> pathlib.Path:
    """The native binary of Claude Code for this machine, without the wrapper's start-up."""
    found = sorted((modules / "node_modules" / "@anthropic-ai").glob(f"{package}-*/claude*"))
    binaries = [path for path in found if path.is_file() and os.access(path, os.X_OK)]
    if not binaries:
        raise RuntimeError(f"no platform binary of {package} was installed")
    return binaries[0]


def tool_versions() -> dict:
    """Versions of the runtimes, for the report."""
    out = {"python": sys.version.split()[0]}
    for tool in ("node", "npm"):
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            shown = subprocess.run([tool, "--version"], capture_output=True, text=True, timeout=30)
            out[tool] = shown.stdout.strip()
    return out
