//! Names of attributes and metrics, in one place.
//!
//! The GenAI conventions are experimental and change with their versions, so one version is pinned:
//! 1.41.0 of the OpenTelemetry semantic conventions. A newer one is a change of this file and of
//! the list in `tests/clients/telemetry/conventions.py`.

/// Address of the schema that the names belong to.
pub(crate) const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.41.0";

pub(crate) const SERVICE_NAME: &str = "service.name";
pub(crate) const SERVICE_VERSION: &str = "service.version";
pub(crate) const SERVICE_INSTANCE: &str = "service.instance.id";
pub(crate) const SERVER_ADDRESS: &str = "server.address";
pub(crate) const SERVER_PORT: &str = "server.port";
pub(crate) const ERROR_TYPE: &str = "error.type";
pub(crate) const STATUS_CODE: &str = "http.response.status_code";

pub(crate) const OPERATION: &str = "gen_ai.operation.name";
pub(crate) const PROVIDER: &str = "gen_ai.provider.name";
pub(crate) const CONVERSATION: &str = "gen_ai.conversation.id";
pub(crate) const OUTPUT_TYPE: &str = "gen_ai.output.type";
pub(crate) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(crate) const REQUEST_STREAM: &str = "gen_ai.request.stream";
pub(crate) const REQUEST_TEMPERATURE: &str = "gen_ai.request.temperature";
pub(crate) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(crate) const FIRST_CHUNK: &str = "gen_ai.response.time_to_first_chunk";
pub(crate) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(crate) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(crate) const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
pub(crate) const CACHE_WRITE_TOKENS: &str = "gen_ai.usage.cache_creation.input_tokens";
pub(crate) const REASONING_TOKENS: &str = "gen_ai.usage.reasoning.output_tokens";
pub(crate) const TOKEN_TYPE: &str = "gen_ai.token.type";
/// No convention names a cost; other gateways and Langfuse use this name, in USD.
pub(crate) const COST: &str = "gen_ai.usage.cost";

pub(crate) const CLIENT_TOKENS: &str = "gen_ai.client.token.usage";
pub(crate) const CLIENT_DURATION: &str = "gen_ai.client.operation.duration";
pub(crate) const SERVER_DURATION: &str = "gen_ai.server.request.duration";
pub(crate) const SERVER_FIRST_TOKEN: &str = "gen_ai.server.time_to_first_token";

pub(crate) const LANGFUSE_NAME: &str = "langfuse.trace.name";
pub(crate) const LANGFUSE_USER: &str = "langfuse.user.id";
pub(crate) const LANGFUSE_SESSION: &str = "langfuse.session.id";
pub(crate) const LANGFUSE_TAGS: &str = "langfuse.trace.tags";
pub(crate) const LANGFUSE_TYPE: &str = "langfuse.observation.type";
pub(crate) const LANGFUSE_LEVEL: &str = "langfuse.observation.level";
pub(crate) const LANGFUSE_STATUS: &str = "langfuse.observation.status_message";
pub(crate) const LANGFUSE_MODEL: &str = "langfuse.observation.model.name";
pub(crate) const LANGFUSE_USAGE: &str = "langfuse.observation.usage_details";
pub(crate) const LANGFUSE_COST: &str = "langfuse.observation.cost_details";
pub(crate) const LANGFUSE_FIRST: &str = "langfuse.observation.completion_start_time";

/// Value of `gen_ai.provider.name` for a backend: the well-known name of its service where there is
/// one, otherwise the name of the service in the configuration, such as `groq` of `direct/groq#2`.
#[must_use]
pub(crate) fn provider_name(backend: &str) -> &str {
    let service = backend.strip_prefix("direct/").unwrap_or(backend);
    match service.split('#').next().unwrap_or(service) {
        "google" => "gcp.gemini",
        "mistral" => "mistral_ai",
        "xai" => "x_ai",
        "bedrock" => "aws.bedrock",
        "azure" => "azure.ai.openai",
        "" => "bardo",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backends_have_the_well_known_name_of_their_service() {
        for (backend, name) in [
            ("direct/openai", "openai"),
            ("direct/google", "gcp.gemini"),
            ("direct/groq#2", "groq"),
            ("openrouter", "openrouter"),
            ("", "bardo"),
        ] {
            assert_eq!(provider_name(backend), name, "{backend}");
        }
    }
}
