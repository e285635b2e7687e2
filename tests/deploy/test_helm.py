"""The chart, rendered by Helm's own engine and held against the schemas of Kubernetes. No cluster runs
here, and the ServiceMonitor of the Prometheus operator has no schema in these packages."""

import json
import re
import subprocess
import urllib.error
import urllib.request

import helm_python
import kubernetes_validate
import yaml
from support import DEPLOY, GATEWAY, ROOT, Case

CHART = DEPLOY / "helm" / "bardo-gateway"
# The oldest version that the chart allows, and a newer one.
VERSIONS = ["1.30", "1.34"]
SMALL = {"existingSecret": "bardo", "providerSecret": "providers"}
LARGE = {
    **SMALL,
    "replicaCount": 3,
    "postgres": {"enabled": True},
    "redis": {"enabled": True},
    "autoscaling": {"enabled": True, "minReplicas": 3, "maxReplicas": 9},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "networkPolicy": {
        "clients": [{"namespaceSelector": {"matchLabels": {"team": "agents"}}}],
        "operators": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}],
    },
    "imagePullSecrets": [{"name": "registry"}],
    "service": {"type": "LoadBalancer", "annotations": {"a.example/b": "c"}},
    "serviceAccount": {"annotations": {"a.example/role": "gateway"}},
    "podAnnotations": {"a.example/scrape": "no"},
    "podLabels": {"team": "llm"},
    "nodeSelector": {"kubernetes.io/arch": "amd64"},
    "tolerations": [{"key": "llm", "operator": "Exists", "effect": "NoSchedule"}],
    "affinity": {"podAntiAffinity": {}},
    "extraEnv": [{"name": "RUST_LOG", "value": "info"}],
    "drainSeconds": 300,
    "image": {"repository": "registry.example/bardo-gateway", "tag": "0.1.1"},
}


def render(values: dict, release: str = "bardo") -> dict:
    """The manifests by kind and name."""
    with helm_python.Chart.load(str(CHART)) as chart:
        texts = chart.render(values, name=release, namespace="llm")
    manifests = {}
    for path, text in texts.items():
        if path.endswith(".txt"):
            continue
        for manifest in yaml.safe_load_all(text):
            if manifest:
                manifests[manifest["kind"], manifest["metadata"]["name"]] = manifest
    return manifests


def pod(values: dict) -> dict:
    return render(values)["Deployment", "bardo-bardo-gateway"]["spec"]["template"]["spec"]


class Chart(Case):
    def test_helm_finds_nothing_to_say(self):
        for values in (SMALL, LARGE):
            told = helm_python.lint(str(CHART), values)
            text = json.dumps(told)
            self.assertNotRegex(text, r'"severity": ?"(WARNING|ERROR)"', text)

    def test_manifests_fit_the_schemas_of_kubernetes(self):
        seen = set()
        for values in (SMALL, LARGE):
            for (kind, name), manifest in render(values).items():
                seen.add(kind)
                if kind == "ServiceMonitor":
                    continue
                for version in VERSIONS:
                    with self.subTest(kind=kind, name=name, version=version):
                        kubernetes_validate.validate(manifest, version, strict=True)
        expected = {"ConfigMap", "Deployment", "HorizontalPodAutoscaler", "NetworkPolicy", "PersistentVolumeClaim"}
        expected |= {"Pod", "PodDisruptionBudget", "Service", "ServiceAccount", "ServiceMonitor"}
        self.assertEqual(seen, expected)

    def test_a_schema_that_is_broken_is_seen(self):
        manifest = render(SMALL)["Deployment", "bardo-bardo-gateway"]
        manifest["spec"]["template"]["spec"]["terminationGracePeriod"] = 3
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(manifest, VERSIONS[0], strict=True)

    def test_what_cannot_work_is_refused_with_what_to_do(self):
        refusals = {
            "existingSecret to a Secret of yours": {},
            "share accounts and keys over Postgres": {**SMALL, "replicaCount": 2},
            "replicaCont": {**SMALL, "replicaCont": 2},
            "drainSeconds": {**SMALL, "drainSeconds": "5m"},
            "config": {**SMALL, "config": {"server": {"listen": "0.0.0.0:80"}}},
        }
        for expected, values in refusals.items():
            with self.subTest(expected), self.assertRaisesRegex(helm_python.HelmError, expected):
                with helm_python.Chart.load(str(CHART)) as chart:
                    chart.validate_schema(values)
                    chart.render(values, name="bardo", namespace="llm")

    def test_the_chart_ships_the_version_of_the_workspace(self):
        chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
        version = re.search(r'(?m)^version = "(.+)"$', (ROOT / "Cargo.toml").read_text())[1]
        self.assertEqual((chart["version"], chart["appVersion"]), (version, version))


class Gateway(Case):
    def test_the_gateway_accepts_the_rendered_configuration_and_command_line(self):
        for values in (SMALL, LARGE):
            manifests = render(values)
            text = manifests["ConfigMap", "bardo-bardo-gateway"]["data"]["bardo.yaml"]
            said = self.is_valid_config(text, "/run/secrets/bardo", {"ANTHROPIC_API_KEY": "sk-ant"})
            self.assertIn("direct/anthropic", said)
            container = pod(values)["containers"][0]
            self.is_understood(container["args"])
            self.assertIn("/etc/bardo/bardo.yaml", container["args"])
            self.is_understood(manifests["Pod", "bardo-bardo-gateway-test"]["spec"]["containers"][0]["args"])

    def test_your_configuration_and_that_of_the_chart_are_both_in_force(self):
        config = {"server": {"max_body": "1MiB"}, "cache": {"scope": "tenant"}, "providers": {"venice": {"api_key": "k"}}}
        manifests = render({**LARGE, "config": config})
        file = yaml.safe_load(manifests["ConfigMap", "bardo-bardo-gateway"]["data"]["bardo.yaml"])
        self.assertEqual((file["server"]["max_body"], file["server"]["drain"]), ("1MiB", "300s"))
        self.assertEqual((file["cache"]["scope"], file["cache"]["redis_key"]), ("tenant", "file:/run/secrets/bardo/redis-key"))
        self.assertEqual(file["store"], {"url": "file:/run/secrets/bardo/postgres-url"})
        self.assertEqual(file["limits"]["instances"], 9)
        self.assertIn("venice", file["providers"])

    def test_the_probes_ask_what_a_running_gateway_answers(self):
        container = pod(LARGE)["containers"][0]
        paths = {container[probe]["httpGet"]["path"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")}
        self.assertEqual(paths, {"/health/live", "/health/ready"})
        command = [GATEWAY, "serve", "--sandbox", "--json", "--listen", "0.0.0.0:0", "--admin-listen", "127.0.0.1:0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={}, cwd=self.folder) as child:
            try:
                ready = json.loads(child.stdout.readline())
                address = ready["listen"].replace("0.0.0.0", "127.0.0.1")
                for path in paths:
                    with urllib.request.urlopen(f"http://{address}{path}", timeout=10) as answer:
                        self.assertEqual(answer.status, 200)
                with self.assertRaises(urllib.error.HTTPError, msg="other machines need the key"):
                    urllib.request.urlopen(f"http://{address}/v1/models", timeout=10)
                self.passes(GATEWAY, "health", "--url", f"http://{address}")
            finally:
                child.terminate()

    def test_a_pod_has_time_to_leave_and_to_drain(self):
        for values, drain in ((SMALL, 60), (LARGE, 300)):
            spec = pod(values)
            leave = spec["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
            self.assertGreaterEqual(spec["terminationGracePeriodSeconds"], leave + drain + 30)

    def test_a_pod_has_no_rights_and_writes_to_its_volumes_alone(self):
        for spec in (pod(SMALL), pod(LARGE), render(SMALL)["Pod", "bardo-bardo-gateway-test"]["spec"]):
            self.assertIs(spec["automountServiceAccountToken"], False)
            self.assertIs(spec["securityContext"]["runAsNonRoot"], True)
            for container in spec["containers"]:
                rights = container["securityContext"]
                self.assertEqual(rights["capabilities"], {"drop": ["ALL"]})
                self.assertIs(rights["readOnlyRootFilesystem"], True)
                self.assertIs(rights["allowPrivilegeEscalation"], False)

    def test_sqlite_has_one_replica_and_a_volume_that_outlives_it(self):
        manifests = render(SMALL)
        deployment = manifests["Deployment", "bardo-bardo-gateway"]["spec"]
        self.assertEqual((deployment["replicas"], deployment["strategy"]["type"]), (1, "Recreate"))
        claim = manifests["PersistentVolumeClaim", "bardo-bardo-gateway"]
        self.assertEqual(claim["metadata"]["annotations"]["helm.sh/resource-policy"], "keep")
        self.assertNotIn(("PodDisruptionBudget", "bardo-bardo-gateway"), manifests)

    def test_services_policies_and_budgets_find_the_pods(self):
        manifests = render(LARGE)
        labels = manifests["Deployment", "bardo-bardo-gateway"]["spec"]["template"]["metadata"]["labels"]
        ports = {port["name"] for port in pod(LARGE)["containers"][0]["ports"]}
        for (kind, name), manifest in manifests.items():
            spec = manifest.get("spec", {})
            selector = {
                "Service": lambda: spec["selector"],
                "PodDisruptionBudget": lambda: spec["selector"]["matchLabels"],
                "NetworkPolicy": lambda: spec["podSelector"]["matchLabels"],
                "Deployment": lambda: spec["selector"]["matchLabels"],
            }.get(kind)
            if selector:
                with self.subTest(kind=kind, name=name):
                    self.assertLessEqual(selector().items(), labels.items())
            if kind == "Service":
                self.assertLessEqual({port["targetPort"] for port in spec["ports"]}, ports)
            if kind == "NetworkPolicy":
                named = {port["port"] for rule in spec["ingress"] for port in rule["ports"]}
                self.assertEqual(named, ports)
        monitor = manifests["ServiceMonitor", "bardo-bardo-gateway"]["spec"]
        admin = manifests["Service", "bardo-bardo-gateway-admin"]
        self.assertLessEqual(monitor["selector"]["matchLabels"].items(), admin["metadata"]["labels"].items())
        self.assertEqual(monitor["endpoints"][0]["port"], admin["spec"]["ports"][0]["name"])
