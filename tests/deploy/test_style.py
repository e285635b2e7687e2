"""Shell scripts and YAML files below deploy/, by their linters."""

from support import DEPLOY, Case

YAMLLINT = "{extends: relaxed, rules: {line-length: disable, document-start: disable}}"


class Style(Case):
    def test_shell_scripts_pass_their_linter(self):
        scripts = [path for path in DEPLOY.rglob("*") if path.is_file() and "generated" not in path.parts]
        scripts = [path for path in scripts if path.read_bytes().startswith(b"#!/bin/sh\n")]
        names = {path.name for path in scripts}
        self.assertLessEqual({"secrets.sh", "rootfs.sh", "build.sh"}, names)
        self.passes("shellcheck", "--shell=sh", "--enable=all", "--exclude=SC2250,SC2312", *scripts)
        for path in scripts:
            self.assertTrue(path.stat().st_mode & 0o111, f"{path} is executable")

    def test_yaml_passes_its_linter(self):
        files = [path for path in DEPLOY.rglob("*.y*ml") if "templates" not in path.parts]
        self.assertGreaterEqual(len(files), 7)
        self.passes("yamllint", "--strict", "-d", YAMLLINT, *files)
