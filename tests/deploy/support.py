"""What the checks share: places, the gateway under test, and folders of invented secrets."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DEPLOY = ROOT / "deploy"
GATEWAY = pathlib.Path(os.environ["BARDO_GATEWAY"])
SECRET = "0123456789abcdef0123456789abcdef"
POSTGRES = "postgres://bardo:secret@127.0.0.1:5432/bardo?sslmode=disable"
REDIS = "redis://:secret@127.0.0.1:6379/0"


def run(*command, **options) -> subprocess.CompletedProcess:
    """A finished program with its output as text. It gets no variable of this process but the path."""
    environment = {"PATH": os.environ["PATH"], **options.pop("env", {})}
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, env=environment, **options
    )


def seconds(text: str) -> float:
    """A duration such as `90s`, `5m` or `6min`."""
    number, unit = re.fullmatch(r"(\d+)\s*(s|m|min|h)?", str(text)).groups()
    return int(number) * {None: 1, "s": 1, "m": 60, "min": 60, "h": 3600}[unit]


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bardo-deploy-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def passes(self, *command, **options) -> str:
        done = run(*command, **options)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")
        return done.stdout

    def tool(self, name: str) -> str:
        """The path of a program that not every machine has."""
        found = shutil.which(name)
        if not found:
            self.skipTest(f"{name} is not installed")
        return found

    def is_understood(self, arguments: list):
        """The gateway knows each option of a command line. `--help` ends it before anything starts."""
        self.assertTrue(arguments, "a verb")
        self.passes(GATEWAY, *arguments, "--help")

    def secrets(self, names) -> pathlib.Path:
        """A folder with a plausible secret for each name."""
        folder = self.folder / "secrets"
        folder.mkdir(exist_ok=True)
        for name in names:
            kind = re.sub(r"[^a-z]", "", name.lower())
            text = POSTGRES if "postgresurl" in kind else REDIS if "redisurl" in kind else SECRET
            (folder / name).write_text(text)
        return folder

    def is_valid_config(self, text: str, mounted: str, environment=None):
        """`check` accepts a configuration whose secrets are in the folder `mounted`."""
        names = set(re.findall(rf"{re.escape(mounted)}/([\w.-]+)", text))
        secrets = self.secrets(names)
        file = self.folder / "bardo.yaml"
        file.write_text(text.replace(mounted, str(secrets)))
        return self.passes(
            GATEWAY, "check", "--config", file, "--data-dir", self.folder / "data", env=environment or {}
        )


def load(path: pathlib.Path):
    return yaml.safe_load(path.read_text())


def default_drain() -> float:
    """`server.drain` without a configuration, in seconds."""
    shown = run(GATEWAY, "config", "show", "--json", env={"HOME": "/nonexistent"})
    rows = (json.loads(line) for line in shown.stdout.splitlines())
    return seconds(next(row["value"] for row in rows if row["key"] == "server.drain"))
