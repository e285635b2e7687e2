//! The places of models: a prefix of LiteLLM's model names, as a backend of this gateway.

/// The kind of backend that a prefix means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Home {
    /// A maker with an API of its own: the `provider` of a key.
    Maker(&'static str),
    /// A vendor that the gateway knows.
    Vendor(&'static str),
    /// OpenRouter, which resells.
    OpenRouter,
    /// A server of the owner's, with its usual address.
    Local(&'static str),
    /// A vendor in OpenAI's format whose address is in the file.
    Compatible,
    /// A deployment at Azure, under Azure's address `/openai/v1`.
    Azure,
    /// No backend here serves it, for this reason.
    Nowhere(&'static str),
}

/// (prefix, home, the variable that LiteLLM reads the key from).
const PREFIXES: &[(&str, Home, &str)] = &[
    ("openai", Home::Maker("openai"), "OPENAI_API_KEY"),
    (
        "text-completion-openai",
        Home::Maker("openai"),
        "OPENAI_API_KEY",
    ),
    ("anthropic", Home::Maker("anthropic"), "ANTHROPIC_API_KEY"),
    ("gemini", Home::Maker("google"), "GEMINI_API_KEY"),
    ("deepseek", Home::Maker("deepseek"), "DEEPSEEK_API_KEY"),
    ("openrouter", Home::OpenRouter, "OPENROUTER_API_KEY"),
    ("groq", Home::Vendor("groq"), "GROQ_API_KEY"),
    ("mistral", Home::Vendor("mistral"), "MISTRAL_API_KEY"),
    ("xai", Home::Vendor("xai"), "XAI_API_KEY"),
    (
        "together_ai",
        Home::Vendor("together"),
        "TOGETHERAI_API_KEY",
    ),
    (
        "fireworks_ai",
        Home::Vendor("fireworks"),
        "FIREWORKS_AI_API_KEY",
    ),
    ("cerebras", Home::Vendor("cerebras"), "CEREBRAS_API_KEY"),
    (
        "perplexity",
        Home::Vendor("perplexity"),
        "PERPLEXITYAI_API_KEY",
    ),
    ("moonshot", Home::Vendor("moonshot"), "MOONSHOT_API_KEY"),
    ("zai", Home::Vendor("zai"), "ZAI_API_KEY"),
    ("nvidia_nim", Home::Vendor("nvidia"), "NVIDIA_NIM_API_KEY"),
    ("ollama", Home::Local("http://127.0.0.1:11434"), ""),
    ("ollama_chat", Home::Local("http://127.0.0.1:11434"), ""),
    ("hosted_vllm", Home::Local("http://127.0.0.1:8000/v1"), ""),
    ("lm_studio", Home::Local("http://127.0.0.1:1234/v1"), ""),
    ("llamafile", Home::Local("http://127.0.0.1:8080/v1"), ""),
    ("xinference", Home::Local("http://127.0.0.1:9997/v1"), ""),
    (
        "docker_model_runner",
        Home::Local("http://127.0.0.1:12434/engines/v1"),
        "",
    ),
    ("azure", Home::Azure, "AZURE_API_KEY"),
    ("bedrock", Home::Nowhere(AWS), ""),
    ("bedrock_converse", Home::Nowhere(AWS), ""),
    ("sagemaker", Home::Nowhere(AWS), ""),
    ("sagemaker_chat", Home::Nowhere(AWS), ""),
    ("vertex_ai", Home::Nowhere(GOOGLE_CLOUD), ""),
    ("vertex_ai_beta", Home::Nowhere(GOOGLE_CLOUD), ""),
    (
        "vllm",
        Home::Nowhere(
            "LiteLLM runs this model in its own process; start vLLM as a server and use `hosted_vllm/`",
        ),
        "",
    ),
    ("cohere", Home::Nowhere(OWN_FORMAT), ""),
    ("cohere_chat", Home::Nowhere(OWN_FORMAT), ""),
    ("replicate", Home::Nowhere(OWN_FORMAT), ""),
    ("watsonx", Home::Nowhere(OWN_FORMAT), ""),
    ("huggingface", Home::Nowhere(OWN_FORMAT), ""),
    ("voyage", Home::Nowhere(OWN_FORMAT), ""),
    ("ai21", Home::Nowhere(OWN_FORMAT), ""),
    ("ai21_chat", Home::Nowhere(OWN_FORMAT), ""),
    (
        "palm",
        Home::Nowhere("Google shut this API down; use `gemini/`"),
        "",
    ),
    (
        "github_copilot",
        Home::Nowhere("it needs a login of GitHub Copilot, which the gateway has not"),
        "",
    ),
];

const AWS: &str = "its requests are signed with AWS credentials, which the gateway does not do. Keep \
    LiteLLM for this model, and add LiteLLM here as a key with `provider: openai_compatible`";
const GOOGLE_CLOUD: &str = "it takes tokens of Google Cloud accounts, which the gateway does not make. \
    Use `gemini/` with an API key, or keep LiteLLM for it as a key with `provider: openai_compatible`";
const OWN_FORMAT: &str = "its API has a format of its own. Keep LiteLLM for it, and add LiteLLM here as \
    a key with `provider: openai_compatible`, or give its OpenAI-compatible address as `api_base`";

/// Finds the home of a prefix, and the variable of its key. Prefixes that are not listed are vendors
/// in OpenAI's format, for which the file must have an address.
pub(super) fn home(prefix: &str) -> (Home, &'static str) {
    let found = PREFIXES.iter().find(|(known, ..)| *known == prefix);
    found.map_or((Home::Compatible, ""), |(_, home, variable)| {
        (*home, *variable)
    })
}

/// Whether a text before the first slash of a model is a prefix of LiteLLM's. Models such as
/// `meta-llama/Llama-3-8B` have a slash of their own.
pub(super) fn is_prefix(text: &str) -> bool {
    const OTHERS: &[&str] = &[
        "azure_ai",
        "azure_text",
        "baseten",
        "cloudflare",
        "codestral",
        "custom_openai",
        "dashscope",
        "databricks",
        "deepinfra",
        "featherless_ai",
        "friendliai",
        "github",
        "gradient_ai",
        "hyperbolic",
        "lambda_ai",
        "litellm_proxy",
        "meta_llama",
        "minimax",
        "morph",
        "nebius",
        "novita",
        "nscale",
        "oci",
        "openai_like",
        "predibase",
        "sambanova",
        "snowflake",
        "text-completion-codestral",
        "triton",
        "v0",
        "volcengine",
        "wandb",
    ];
    OTHERS.contains(&text) || PREFIXES.iter().any(|(known, ..)| *known == text)
}

/// The prefix that LiteLLM finds for a model that is written without one.
pub(super) fn implied(model: &str) -> &'static str {
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| model.starts_with(prefix));
    if begins(&["claude"]) {
        "anthropic"
    } else if begins(&["gemini"]) {
        "vertex_ai"
    } else if begins(&["deepseek"]) {
        "deepseek"
    } else if begins(&["command"]) {
        "cohere"
    } else {
        "openai"
    }
}

/// Whether a host name or address belongs to this machine or to a private network, as far as its
/// text tells.
pub(super) fn is_own_host(url: &str) -> bool {
    let host = host_of(url);
    if let Ok(ip) = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>() {
        return match ip {
            std::net::IpAddr::V4(ip) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
            std::net::IpAddr::V6(ip) => ip.is_loopback() || ip.is_unique_local(),
        };
    }
    let endings = [
        ".local",
        ".internal",
        ".lan",
        ".svc",
        ".cluster.local",
        ".localhost",
    ];
    !host.contains('.') || endings.iter().any(|ending| host.ends_with(ending))
}

/// The host of an address, without its port.
pub(super) fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let host = rest[..end]
        .rsplit_once('@')
        .map_or(&rest[..end], |(_, host)| host);
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_lead_to_backends_or_to_a_reason() {
        assert_eq!(home("gemini"), (Home::Maker("google"), "GEMINI_API_KEY"));
        assert_eq!(home("deepinfra").0, Home::Compatible);
        assert!(matches!(home("bedrock").0, Home::Nowhere(_)));
        for (_, home, _) in PREFIXES {
            if let Home::Vendor(name) = home {
                assert!(bardo_router::vendor(name).is_some(), "{name}");
            }
        }
        assert!(is_prefix("hosted_vllm") && !is_prefix("meta-llama"));
        assert_eq!(implied("claude-sonnet-5-5"), "anthropic");
        assert_eq!(implied("o3"), "openai");
    }

    #[test]
    fn servers_of_the_owner_are_told_from_those_of_vendors() {
        for own in [
            "http://localhost:8000/v1",
            "http://ollama:11434",
            "http://10.1.2.3/v1",
            "http://[::1]:1",
            "http://vllm.llm.svc:8000",
        ] {
            assert!(is_own_host(own), "{own}");
        }
        for other in [
            "https://api.example.com/v1",
            "https://8.8.8.8",
            "http://u:p@x.example:1/",
        ] {
            assert!(!is_own_host(other), "{other}");
        }
        assert_eq!(host_of("https://u:p@x.example:1/v1"), "x.example");
    }
}
