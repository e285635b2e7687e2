//! The addresses of services, as they are usually and as owners write them.

use bardo_types::model::Service;

/// The address of a service whose owner wrote none; `None` where there is no usual one.
pub(super) const fn usual_address(service: Service, has_key: bool) -> Option<&'static str> {
    match service {
        Service::OpenAi => Some("https://api.openai.com/v1"),
        Service::Anthropic => Some("https://api.anthropic.com"),
        Service::Google => Some("https://generativelanguage.googleapis.com"),
        Service::DeepSeek => Some("https://api.deepseek.com"),
        Service::Local | Service::Compatible => None,
        Service::OpenRouter => Some("https://openrouter.ai/api/v1"),
        Service::Venice => Some("https://api.venice.ai/api/v1"),
        Service::Bankr => Some("https://llm.bankr.bot/v1"),
        // Two doors to one service: an account's key is known at the first alone.
        Service::BlockRun if has_key => Some("https://api.blockrun.ai/v1"),
        Service::BlockRun => Some("https://blockrun.ai/api/v1"),
    }
}

/// Brings the path of a service's address to the form below which its endpoints are. Addresses are
/// copied with and without the version that the service wants there.
pub(super) fn complete_path(path: &mut String, service: Service, has_key: bool) {
    match service {
        Service::Anthropic | Service::Google => {
            for version in ["/v1", "/v1beta"] {
                if let Some(stem) = path.strip_suffix(version) {
                    path.truncate(stem.len());
                }
            }
        }
        Service::BlockRun if path.is_empty() && has_key => path.push_str("/v1"),
        Service::BlockRun if path.is_empty() => path.push_str("/api/v1"),
        Service::BlockRun if path == "/api" => path.push_str("/v1"),
        Service::Bankr if path.is_empty() => path.push_str("/v1"),
        _ => {}
    }
}
