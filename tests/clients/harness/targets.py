"""The backends of the matrix, where each client finds them, and the gateway's configuration."""

import dataclasses
import json
import pathlib


@dataclasses.dataclass(frozen=True)
class Backend:
    """One provider dialect the gateway speaks upstream, as the sandbox simulates it."""

    name: str
    # A word of its own per dialect: `provider` plus `api` as the configuration names them.
    provider: str
    api: str | None
    # The sandbox's name for the service, as its journal has it, and its base URL's path.
    service: str
    base_path: str
    model: str
    # How a request to it is recognised in the journal.
    path_part: str
    # What the service says when it is overloaded.
    overloaded: int = 503
    more_models: tuple = ()
    sees_images: bool = True


BACKENDS = (
    Backend(
        name="openai-chat",
        provider="openai",
        api="chat",
        service="openai",
        base_path="/openai/v1",
        model="gpt-5.5",
        path_part="/chat/completions",
        more_models=("text-embedding-3-small",),
    ),
    Backend(
        name="responses",
        provider="openai",
        api="responses",
        service="openai",
        base_path="/openai/v1",
        model="gpt-6-sol",
        path_part="/responses",
    ),
    Backend(
        name="anthropic",
        provider="anthropic",
        api=None,
        service="anthropic",
        base_path="/anthropic",
        model="claude-sonnet-5-5",
        path_part="/v1/messages",
        overloaded=529,
        more_models=("claude-opus-5-5", "claude-haiku-5-5", "claude-haiku-4-5"),
    ),
    Backend(
        name="gemini",
        provider="google",
        api=None,
        service="google",
        base_path="/google",
        model="gemini-3-flash",
        path_part="enerateContent",
    ),
    Backend(
        name="deepseek",
        provider="deepseek",
        api=None,
        service="deepseek",
        base_path="/deepseek",
        model="deepseek-v4-pro",
        path_part="/chat/completions",
        sees_images=False,
    ),
)
BACKEND = {backend.name: backend for backend in BACKENDS}

# Other names for backends' models. Codex gives models of these names its free-form tool, in an
# item of its own, whoever answers in truth.
ALIASES = {"gpt-6-luna": "anthropic", "gpt-6-astra": "gemini", "gpt-6.1-sol": "openai-chat"}

# Which services speak a client's dialect natively; `--direct` runs these alone.
NATIVE = {
    "chat": ("openai-chat", "deepseek"),
    "compatible": ("openai-chat", "deepseek"),
    "responses": ("responses",),
    "messages": ("anthropic",),
}

KEY_ID = "matrix"
KEY_SECRET = "k7Qm2ZtY9cW4xV1nB8sD5fG3hJ6pL0rT2uE7aK9oMqX"
GATEWAY_KEY = f"bardo_sk_{KEY_ID}_{KEY_SECRET}"
UPSTREAM_KEY = "sandbox-upstream-key"


def gateway_config(sandbox: str) -> dict:
    """The configuration of the gateway under test: five backends and one key."""
    keys = []
    for backend in BACKENDS:
        entry = {
            "provider": backend.provider,
            "api_key": UPSTREAM_KEY,
            "base_url": f"http://{sandbox}{backend.base_path}",
            "models": [backend.model, *backend.more_models],
        }
        if backend.api:
            entry["api"] = backend.api
        keys.append(entry)
    return {
        # The cells that fail on purpose would open circuits in front of those beside them.
        "upstream": {"breaker": {"enabled": False}},
        "providers": {"direct": {"keys": keys}},
        "inference": {"aliases": {alias: BACKEND[name].model for alias, name in ALIASES.items()}},
        "auth": {"keys": [{"id": KEY_ID, "key": GATEWAY_KEY}]},
    }


def write_config(sandbox: str, place: pathlib.Path) -> pathlib.Path:
    """JSON is YAML too, so no YAML writer is needed."""
    place.write_text(json.dumps(gateway_config(sandbox), indent=2) + "\n")
    return place


@dataclasses.dataclass(frozen=True)
class World:
    """The servers of one run. Without a gateway the clients talk to the services themselves."""

    sandbox: str
    gateway: str | None
    binary: pathlib.Path | None = None

    @property
    def direct(self) -> bool:
        return self.gateway is None

    @property
    def key(self) -> str:
        return "sandbox-direct-key" if self.direct else GATEWAY_KEY

    def root(self, backend: Backend) -> str:
        """The base URL without a version, as Anthropic-style clients take it."""
        if self.direct:
            return f"http://{self.sandbox}{backend.base_path}"
        return f"http://{self.gateway}"

    def openai_base(self, backend: Backend) -> str:
        """The base URL as OpenAI-style clients take it; the services' own already end right."""
        return self.root(backend) if self.direct else self.root(backend) + "/v1"

    def backends(self, dialect: str):
        if not self.direct:
            return BACKENDS
        return tuple(BACKEND[name] for name in NATIVE[dialect])
