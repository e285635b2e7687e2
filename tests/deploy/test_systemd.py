"""The unit, its user and its folders, by systemd's own tools where the machine has them."""

import os
import re
import shlex

from support import DEPLOY, GATEWAY, Case, default_drain, run, seconds

UNIT = DEPLOY / "systemd" / "bardo-gateway.service"
SYSUSERS = DEPLOY / "systemd" / "bardo-gateway.sysusers"
TMPFILES = DEPLOY / "systemd" / "bardo-gateway.tmpfiles"
# 0 is nothing, 10 everything; tenths. A service of Debian has 96 where it says nothing.
EXPOSURE = 15


def unit() -> dict:
    """The settings of the service, each with its values in order."""
    settings = {}
    for line in UNIT.read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            settings.setdefault(key, []).append(value)
    return settings


class Unit(Case):
    def copy(self):
        """The unit with the binary under test, which systemd looks for."""
        path = self.folder / UNIT.name
        path.write_text(UNIT.read_text().replace("/usr/bin/bardo-gateway", str(GATEWAY)))
        return path

    def test_systemd_accepts_the_unit(self):
        done = run(self.tool("systemd-analyze"), "verify", "--man=no", self.copy())
        self.assertEqual((done.returncode, done.stderr.strip()), (0, ""))

    def test_the_unit_exposes_little(self):
        command = [self.tool("systemd-analyze"), "security", "--offline=true", f"--threshold={EXPOSURE}"]
        done = run(*command, self.copy())
        if "unrecognized option" in done.stderr:
            self.skipTest("this systemd-analyze is too old to look at a file")
        self.assertEqual(done.returncode, 0, done.stdout[-400:])

    def test_the_unit_starts_the_gateway_with_options_that_it_has(self):
        binary, *arguments = shlex.split(unit()["ExecStart"][0])
        self.assertEqual(binary, "/usr/bin/bardo-gateway")
        self.is_understood(arguments)
        self.assertEqual(unit()["Type"], ["notify"])

    def test_systemd_waits_longer_than_the_gateway_drains(self):
        self.assertGreaterEqual(seconds(unit()["TimeoutStopSec"][0]), default_drain() + 30)

    def test_the_user_and_the_folders_of_the_unit_are_created(self):
        root = self.folder / "root"
        (root / "etc").mkdir(parents=True)
        user = unit()["User"][0]
        self.assertRegex(SYSUSERS.read_text(), rf"(?m)^u {user} ")
        self.passes(self.tool("systemd-sysusers"), f"--root={root}", SYSUSERS)
        self.assertRegex((root / "etc/passwd").read_text(), rf"(?m)^{user}:x:\d+:\d+:.*:/usr/sbin/nologin$")
        if os.geteuid():
            self.skipTest("folders of other users need root")
        self.passes(self.tool("systemd-tmpfiles"), "--create", f"--root={root}", TMPFILES)
        modes = {path: (root / path).stat().st_mode & 0o777 for path in ("etc/bardo", "etc/credstore", "var/lib/bardo")}
        self.assertEqual(modes, {"etc/bardo": 0o750, "etc/credstore": 0o700, "var/lib/bardo": 0o700})


class Configuration(Case):
    def test_the_gateway_accepts_the_file_of_the_package(self):
        text = (DEPLOY / "debian" / "bardo.yaml").read_text()
        commands = re.findall(r"CREDENTIALS_DIRECTORY=\S+ bardo-gateway (.*)", text)
        for command in commands:
            self.is_understood(shlex.split(command))
        self.assertTrue(commands, "the file says how to validate it")
        accepted = self.is_valid_config(text, "${CREDENTIALS_DIRECTORY}")
        self.assertIn("direct/anthropic", accepted)

    def test_the_paths_of_secrets_may_name_the_folder_of_credentials(self):
        text = (DEPLOY / "debian" / "bardo.yaml").read_text()
        secrets = self.secrets(re.findall(r"\$\{CREDENTIALS_DIRECTORY\}/([\w.]+)", text))
        file = DEPLOY / "debian" / "bardo.yaml"
        command = [GATEWAY, "check", "--config", file, "--data-dir", self.folder / "data"]
        self.passes(*command, env={"CREDENTIALS_DIRECTORY": str(secrets)})

    def test_the_unit_loads_each_secret_that_the_file_names(self):
        text = (DEPLOY / "debian" / "bardo.yaml").read_text()
        named = set(re.findall(r"\$\{CREDENTIALS_DIRECTORY\}/([\w.]+)", text))
        self.assertGreaterEqual(len(named), 4)
        self.assertLessEqual(named, set(unit()["LoadCredential"]))

