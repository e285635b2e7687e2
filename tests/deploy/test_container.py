"""The image and the composition. No container runs here: the file system of the image is laid out by
the script of its Dockerfile, and the binary runs inside of it."""

import json
import os
import pathlib
import re
import shutil
import tomllib

import yaml
from support import DEPLOY, GATEWAY, ROOT, Case, load, run, seconds

DOCKERFILE = DEPLOY / "docker" / "Dockerfile"
COMPOSE = DEPLOY / "compose" / "compose.yaml"
MEGABYTE = 1_000_000


def instruction(name: str) -> list:
    """The words of each instruction of the last stage with this name, of its JSON form."""
    stage = DOCKERFILE.read_text().replace("\\\n", " ").rsplit("\nFROM ", 1)[1]
    return [line.split(None, 1)[1] for line in stage.splitlines() if line.startswith(name + " ")]


def in_context(path: str) -> bool:
    """Whether .dockerignore leaves the file in the build context. The last pattern that fits decides."""
    kept = True
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = line.strip()
        if not pattern or pattern.startswith("#"):
            continue
        keeps = pattern.startswith("!")
        pattern = re.escape(pattern.lstrip("!")).replace(r"\*\*/", "(.*/)?").replace(r"\*", "[^/]*")
        if re.fullmatch(f"{pattern}(/.*)?", path):
            kept = keeps
    return kept


class Image(Case):
    def test_the_dockerfile_passes_its_linter(self):
        self.passes("hadolint", "--failure-threshold", "style", DOCKERFILE)

    def test_the_image_builds_with_the_toolchain_of_the_workspace(self):
        channel = tomllib.loads((ROOT / "rust-toolchain.toml").read_text())["toolchain"]["channel"]
        self.assertIn(f"FROM rust:{channel}-slim-bookworm AS build\n", DOCKERFILE.read_text())

    def test_the_image_has_the_optimized_build_and_its_counts_fit_the_toolchain(self):
        channel = tomllib.loads((ROOT / "rust-toolchain.toml").read_text())["toolchain"]["channel"]
        self.assertIn("deploy/build.sh", DOCKERFILE.read_text())
        self.assertEqual((DEPLOY / "pgo" / "compiler").read_text(), f"rustc {channel} x86_64-unknown-linux-gnu\n")
        # The version is part of the name of each function that was counted.
        version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
        self.assertEqual((DEPLOY / "pgo" / "version").read_text(), f"{version}\n")
        for name in ("build.sh", "pgo/compiler", "pgo/counts.profdata"):
            self.assertTrue((DEPLOY / name).is_file(), name)
            self.assertTrue(in_context(f"deploy/{name}"), name)

    def test_the_build_context_has_all_that_a_build_reads_and_no_secret(self):
        files = self.passes("git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard").splitlines()
        kept = [name for name in files if in_context(name) and (ROOT / name).is_file()]
        for name in kept:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.folder / name)
        home = {"HOME": os.environ.get("HOME", "/"), "CARGO_TARGET_DIR": str(self.folder / "target")}
        command = ["cargo", "metadata", "--locked", "--offline", "--no-deps", "--format-version", "1"]
        told = json.loads(self.passes(*command, cwd=self.folder, env=home))
        self.assertIn("bardo-gateway", [package["name"] for package in told["packages"]])
        for source in (self.folder / "crates").rglob("src/**/*.rs"):
            for included in re.findall(r'include_(?:str|bytes)!\("([^"]+)"\)', source.read_text()):
                place = (source.parent / included).resolve()
                self.assertTrue(place.is_file(), f"{source.relative_to(self.folder)} includes {included}")
        for private in ("deploy/compose/secrets/client_key", "target/x", ".env", "bardo.db", "tests/clients/run.py"):
            self.assertFalse(in_context(private), private)

    def test_the_image_is_the_binary_and_less_than_20_megabytes(self):
        root = self.rootfs()
        sizes = {path: path.lstat().st_size for path in root.rglob("*") if path.is_file()}
        binary = sizes.pop(root / "usr/bin/bardo-gateway")
        self.assertEqual(binary, GATEWAY.stat().st_size)
        self.assertLess(sum(sizes.values()), 20 * MEGABYTE)

    def test_the_binary_needs_nothing_beyond_the_image(self):
        root = self.rootfs()
        unshare = self.tool("unshare")
        if run(unshare, "--map-root-user", "true").returncode:
            self.skipTest("user namespaces are off on this machine")
        inside = [unshare, "--map-root-user", "chroot", root, "/usr/bin/bardo-gateway"]
        self.assertRegex(self.passes(*inside, "--version"), r"^bardo-gateway \d")
        asked = run(*inside, "health", "--url", "http://127.0.0.1:9")
        self.assertEqual(asked.returncode, 1, asked.stderr)
        self.assertIn("does not answer", asked.stderr)

    def rootfs(self) -> pathlib.Path:
        self.tool("ldd")
        root = self.folder / "root"
        self.passes(DEPLOY / "docker" / "rootfs.sh", GATEWAY, root)
        return root

    def test_the_image_starts_the_gateway_as_a_user_without_rights(self):
        binary, *rest = json.loads(instruction("ENTRYPOINT")[0])
        self.assertEqual((binary, rest), ("/usr/bin/bardo-gateway", []))
        self.assertTrue((self.rootfs() / "usr/bin/bardo-gateway").is_file())
        self.is_understood(json.loads(instruction("CMD")[0]))
        self.assertEqual(instruction("USER"), ["65532:65532"])
        self.assertEqual(instruction("STOPSIGNAL"), ["SIGTERM"])

    def test_the_health_check_is_a_verb_of_the_binary(self):
        check = instruction("HEALTHCHECK")[0]
        binary, *arguments = json.loads(check[check.index("[") :])
        self.assertEqual(binary, "/usr/bin/bardo-gateway")
        self.is_understood(arguments)
        self.assertEqual(arguments, ["health"])


class Composition(Case):
    def test_compose_fits_its_schema(self):
        self.passes("check-jsonschema", "--builtin-schema", "vendor.compose-spec", COMPOSE)

    def test_each_service_has_a_health_check_and_cannot_gain_rights(self):
        for name, service in load(COMPOSE)["services"].items():
            with self.subTest(name):
                # The gateway has the one of its image.
                self.assertEqual("healthcheck" in service, name != "gateway")
                self.assertIn("no-new-privileges:true", service["security_opt"])
                for port in service.get("ports", []):
                    self.assertTrue(port.startswith("127.0.0.1:"), port)

    def test_each_mounted_file_exists_and_each_volume_is_declared(self):
        compose = load(COMPOSE)
        for name, service in compose["services"].items():
            for volume in service.get("volumes", []):
                source = volume.split(":")[0]
                with self.subTest(service=name, source=source):
                    if source.startswith("."):
                        self.assertTrue((COMPOSE.parent / source).resolve().is_file())
                    else:
                        self.assertIn(source, compose["volumes"])

    def test_the_script_writes_each_secret_once_and_gives_the_gateway_what_it_reads(self):
        folder = self.folder / "compose"
        shutil.copytree(COMPOSE.parent, folder, ignore=shutil.ignore_patterns("secrets"))
        script = folder / "secrets.sh"
        refused = run(script)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("ANTHROPIC_API_KEY", refused.stderr)
        self.passes(script, env={"ANTHROPIC_API_KEY": "sk-ant-one"})
        compose = load(COMPOSE)
        wrote = {path.name: path.read_text() for path in (folder / "secrets").iterdir()}
        declared = {name: secret["file"] for name, secret in compose["secrets"].items()}
        self.assertEqual(set(wrote), set(declared))
        self.assertEqual(declared, {name: f"./secrets/{name}" for name in declared})
        self.passes(script, env={"ANTHROPIC_API_KEY": "sk-ant-two"})
        again = {path.name: path.read_text() for path in (folder / "secrets").iterdir()}
        self.assertEqual(again, wrote, "secrets in use stay")
        self.assertEqual((folder / "secrets").stat().st_mode & 0o777, 0o700)
        for service in compose["services"].values():
            self.assertLessEqual(set(service.get("secrets", [])), set(declared))

    def test_the_gateway_accepts_its_file_with_the_secrets_of_its_service(self):
        gateway = load(COMPOSE)["services"]["gateway"]
        self.is_understood(gateway["command"])
        self.assertIn("./bardo.yaml:/etc/bardo/bardo.yaml:ro", gateway["volumes"])
        text = (COMPOSE.parent / "bardo.yaml").read_text()
        active = "\n".join(line for line in text.splitlines() if not line.strip().startswith("#"))
        named = set(re.findall(r"file:/run/secrets/(\w+)", active))
        self.assertEqual(named, set(gateway["secrets"]))
        self.assertIn("direct/anthropic", self.is_valid_config(active, "/run/secrets"))

    def test_docker_waits_longer_than_the_gateway_drains(self):
        gateway = load(COMPOSE)["services"]["gateway"]
        drain = load(COMPOSE.parent / "bardo.yaml")["server"]["drain"]
        self.assertGreaterEqual(seconds(gateway["stop_grace_period"]), seconds(drain) + 30)

    def test_prometheus_reads_its_file(self):
        text = (COMPOSE.parent / "prometheus.yml").read_text()
        self.assertEqual(yaml.safe_load(text)["rule_files"], ["/etc/prometheus/rules.yml"])
        promtool = self.tool("promtool")
        file = self.folder / "prometheus.yml"
        file.write_text(text.replace("/etc/prometheus", str(DEPLOY / "prometheus")))
        self.passes(promtool, "check", "config", "--syntax-only", file)
