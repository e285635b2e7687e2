"""The GenAI conventions that the gateway promises: version 1.41.0 of OpenTelemetry's.

Written from the published tables and not from the gateway's code. A span that has a name of the
namespaces `gen_ai`, `server` or `error` which is not here, or a value of another type, is wrong.
"""

SCHEMA_URL = "https://opentelemetry.io/schemas/1.41.0"

TEXT, WHOLE, NUMBER, FLAG, TEXTS = "stringValue", "intValue", "doubleValue", "boolValue", "arrayValue"

# Attributes of spans of calls, with the type of their values.
ATTRIBUTES = {
    "gen_ai.operation.name": TEXT,
    "gen_ai.provider.name": TEXT,
    "gen_ai.conversation.id": TEXT,
    "gen_ai.output.type": TEXT,
    "gen_ai.request.choice.count": WHOLE,
    "gen_ai.request.model": TEXT,
    "gen_ai.request.seed": WHOLE,
    "gen_ai.request.stream": FLAG,
    "gen_ai.request.frequency_penalty": NUMBER,
    "gen_ai.request.max_tokens": WHOLE,
    "gen_ai.request.presence_penalty": NUMBER,
    "gen_ai.request.stop_sequences": TEXTS,
    "gen_ai.request.temperature": NUMBER,
    "gen_ai.request.top_k": NUMBER,
    "gen_ai.request.top_p": NUMBER,
    "gen_ai.response.finish_reasons": TEXTS,
    "gen_ai.response.id": TEXT,
    "gen_ai.response.model": TEXT,
    "gen_ai.response.time_to_first_chunk": NUMBER,
    "gen_ai.usage.input_tokens": WHOLE,
    "gen_ai.usage.output_tokens": WHOLE,
    "gen_ai.usage.cache_read.input_tokens": WHOLE,
    "gen_ai.usage.cache_creation.input_tokens": WHOLE,
    "gen_ai.usage.reasoning.output_tokens": WHOLE,
    # No convention has a cost. This is the name that other gateways and Langfuse use.
    "gen_ai.usage.cost": NUMBER,
    "server.address": TEXT,
    "server.port": WHOLE,
    "error.type": TEXT,
}

# Content is for those who ask for it, and the gateway has no setting that does.
CONTENT = (
    "gen_ai.system_instructions",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.tool.definitions",
    "gen_ai.prompt",
    "gen_ai.completion",
)

OPERATIONS = {"chat", "text_completion", "generate_content", "embeddings"}

REQUIRED = ("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model")

METRICS = {
    "gen_ai.client.token.usage": "{token}",
    "gen_ai.client.operation.duration": "s",
    "gen_ai.server.request.duration": "s",
    "gen_ai.server.time_to_first_token": "s",
}

STATUS_ERROR = "STATUS_CODE_ERROR"


def attributes(owner: dict) -> dict:
    """Name to (type, value)."""
    out = {}
    for pair in owner.get("attributes", []):
        ((kind, value),) = pair["value"].items()
        out[pair["key"]] = (kind, int(value) if kind == WHOLE else value)
    return out


def problems(span: dict) -> list:
    """What is wrong with one span by the conventions."""
    out = []
    found = attributes(span)
    if len(found) != len(span.get("attributes", [])):
        out.append(f"{span['name']}: a name comes twice")
    for name, (kind, _value) in found.items():
        if name in CONTENT:
            out.append(f"{span['name']}: has content: {name}")
        elif name.split(".")[0] in ("gen_ai", "server", "error"):
            if ATTRIBUTES.get(name) != kind:
                out.append(f"{span['name']}: {name} as {kind} is not in the conventions")
    if span["kind"] == "SPAN_KIND_CLIENT":
        out += call_problems(span, {name: value for name, (_kind, value) in found.items()})
    return out


def call_problems(span: dict, found: dict) -> list:
    out = [f"{span['name']}: lacks {name}" for name in REQUIRED if name not in found]
    if out:
        return out
    if found["gen_ai.operation.name"] not in OPERATIONS:
        out.append(f"unknown operation {found['gen_ai.operation.name']}")
    if span["name"] != f"{found['gen_ai.operation.name']} {found['gen_ai.request.model']}":
        out.append(f"the span is named {span['name']}")
    if ("server.address" in found) != ("server.port" in found):
        out.append("server.address and server.port come together")
    if ("error.type" in found) != (span.get("status", {}).get("code") == STATUS_ERROR):
        out.append("error.type and the status disagree")
    cached = sum(found.get(f"gen_ai.usage.cache_{kind}.input_tokens", 0) for kind in ("read", "creation"))
    if cached > found.get("gen_ai.usage.input_tokens", 0):
        out.append("cached tokens are not within the input tokens")
    if found.get("gen_ai.usage.reasoning.output_tokens", 0) > found.get("gen_ai.usage.output_tokens", 0):
        out.append("reasoning tokens are not within the output tokens")
    return out


def metric_problems(metric: dict) -> list:
    out = []
    if METRICS.get(metric["name"]) != metric.get("unit"):
        out.append(f"{metric['name']} with unit {metric.get('unit')} is not in the conventions")
    histogram = metric.get("histogram", {})
    if histogram.get("aggregationTemporality") != "AGGREGATION_TEMPORALITY_CUMULATIVE":
        out.append(f"{metric['name']} is no cumulative histogram")
    for point in histogram.get("dataPoints", []):
        found = attributes(point)
        lacking = [name for name in ("gen_ai.operation.name", "gen_ai.provider.name") if name not in found]
        if metric["name"] == "gen_ai.client.token.usage" and found.get("gen_ai.token.type", (0, 0))[1] not in ("input", "output"):
            lacking.append("gen_ai.token.type")
        out += [f"{metric['name']} lacks {name}" for name in lacking]
        if sum(map(int, point["bucketCounts"])) != int(point["count"]):
            out.append(f"{metric['name']}: the buckets do not add up")
    return out
