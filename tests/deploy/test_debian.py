"""The Debian package: what its metadata names exists. `deploy/debian/build.sh` builds it."""

import re
import tomllib

from support import DEPLOY, GATEWAY, ROOT, Case, load

CRATE = ROOT / "crates" / "bardo-gateway"
GENERATED = DEPLOY / "debian" / "generated"


def metadata() -> dict:
    return tomllib.loads((CRATE / "Cargo.toml").read_text())["package"]["metadata"]["deb"]


class Package(Case):
    def test_each_file_of_the_package_exists_or_is_generated(self):
        script = (DEPLOY / "debian" / "build.sh").read_text()
        for source, place, mode in metadata()["assets"]:
            with self.subTest(source):
                path = (CRATE / source).resolve()
                if path.is_relative_to(GENERATED):
                    name = path.relative_to(GENERATED).parts[0]
                    self.assertIn(f'"$generated/{name}"', script)
                else:
                    self.assertTrue(list(path.parent.glob(path.name)), "it exists")
                self.assertFalse(place.startswith("/"))
                self.assertIn(mode, ("644", "755"))

    def test_the_unit_and_the_package_agree_on_places(self):
        places = {place for _, place, _ in metadata()["assets"]}
        unit = (DEPLOY / "systemd" / "bardo-gateway.service").read_text()
        start = next(line for line in unit.splitlines() if line.startswith("ExecStart="))
        binary, config = start.removeprefix("ExecStart=").split()[0], start.split("--config ")[1].split()[0]
        folders = "usr/lib/tmpfiles.d/bardo-gateway.conf"
        self.assertLessEqual({binary.lstrip("/"), config.lstrip("/"), folders}, places)
        self.assertEqual(metadata()["conf-files"], [config])
        scripts = (CRATE / metadata()["systemd-units"]["unit-scripts"]).resolve()
        for kind in ("service", "sysusers"):
            self.assertTrue((scripts / f"{metadata()['systemd-units']['unit-name']}.{kind}").is_file())

    def test_the_documented_path_of_the_rules_is_in_the_package(self):
        text = (ROOT / "docs" / "deploy.md").read_text()
        places = {f"/{place}" for _, place, _ in metadata()["assets"]}
        named = {path.rstrip("|`") for path in re.findall(r"/usr/share/bardo-gateway/[\w./-]+\.yml", text)}
        self.assertTrue(named)
        self.assertLessEqual(named, places)

    def test_the_binary_prints_what_the_package_carries_beside_it(self):
        for shell in ("bash", "zsh", "fish"):
            self.assertIn("bardo-gateway", self.passes(GATEWAY, "completions", shell))
        self.passes(GATEWAY, "man", "--out", self.folder / "man")
        manual = (self.folder / "man" / "bardo-gateway.1").read_text()
        self.assertIn(".TH bardo-gateway 1", manual)

    def test_the_file_of_the_package_listens_on_this_machine_alone(self):
        server = load(DEPLOY / "debian" / "bardo.yaml")["server"]
        for address in (server["listen"], server["admin_listen"]):
            self.assertTrue(address.startswith("127.0.0.1:"), address)
