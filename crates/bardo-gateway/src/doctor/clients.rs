//! What Claude Code, Codex, Aider and Cursor need to use this gateway, and the variables that
//! contradict it.

use std::net::SocketAddr;
use std::path::Path;

use super::{DoctorFinding, FindingList, FindingState};

/// The variables that decide, and the address that they should have.
struct Clients<'a> {
    environment: &'a [(String, String)],
    /// Address of the gateway as clients write it.
    base: String,
    findings: FindingList,
}

/// Checks the environment of this shell. `listen` is the gateway's address, if it is known.
pub(super) fn check(
    environment: &[(String, String)],
    listen: Option<SocketAddr>,
    home: Option<&Path>,
) -> Vec<DoctorFinding> {
    let listen = listen.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 8402)));
    let listen = match listen.ip().is_unspecified() {
        true => SocketAddr::from(([127, 0, 0, 1], listen.port())),
        false => listen,
    };
    let mut clients = Clients {
        environment,
        base: format!("http://{listen}"),
        findings: FindingList::of("client"),
    };
    clients.claude_code();
    clients.codex(home);
    clients.aider();
    clients.findings.add(
        FindingState::Note,
        "Cursor",
        "it calls models from its own servers, so it needs a public HTTPS address of the gateway",
    );
    clients.findings.mend("docs/clients.md#cursor");
    clients.findings.list
}

/// Whether an address means the gateway: its host and port, with or without `/v1`.
fn is_gateway(value: &str, base: &str) -> bool {
    let plain = |url: &str| {
        let url = url
            .trim_end_matches('/')
            .trim_end_matches("/v1")
            .trim_end_matches("/anthropic");
        url.replace("localhost", "127.0.0.1")
    };
    plain(value) == plain(base)
}

/// Whether a key is one of a provider, which the gateway must not get.
fn is_of_provider(key: &str) -> bool {
    ["sk-ant-", "sk-proj-", "sk-or-", "AIza"]
        .iter()
        .any(|begin| key.starts_with(begin))
}

impl Clients<'_> {
    fn value(&self, name: &str) -> Option<&str> {
        let mut set = self
            .environment
            .iter()
            .filter(|(_, value)| !value.is_empty());
        set.find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    fn claude_code(&mut self) {
        const NAME: &str = "Claude Code";
        let base = self.base.clone();
        let line = format!("export ANTHROPIC_BASE_URL={base} ANTHROPIC_AUTH_TOKEN=bardo_sk_…");
        for switch in [
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_USE_VERTEX",
            "CLAUDE_CODE_USE_FOUNDRY",
        ] {
            if self.value(switch).is_some_and(|value| value != "0") {
                self.findings.add(
                    FindingState::Warning,
                    NAME,
                    format!("{switch} is set, so it does not call the gateway"),
                );
                self.findings.mend(format!("unset {switch}"));
            }
        }
        match self.value("ANTHROPIC_BASE_URL") {
            None => {
                self.findings.add(
                    FindingState::Note,
                    NAME,
                    "ANTHROPIC_BASE_URL is not set, so it calls Anthropic itself",
                );
                self.findings.mend(line);
                return;
            }
            Some(url) if !is_gateway(url, &base) => {
                let text = format!("ANTHROPIC_BASE_URL is another address than {base}");
                self.findings.add(FindingState::Warning, NAME, text);
                self.findings.mend(line);
                return;
            }
            Some(_) => {}
        }
        let token = self.value("ANTHROPIC_AUTH_TOKEN").map(str::to_owned);
        let key = self.value("ANTHROPIC_API_KEY").map(str::to_owned);
        match (token, key) {
            (Some(_), Some(_)) => {
                self.findings.add(
                    FindingState::Warning,
                    NAME,
                    "ANTHROPIC_AUTH_TOKEN and ANTHROPIC_API_KEY are both set, and it sends both",
                );
                self.findings.mend("unset ANTHROPIC_API_KEY");
            }
            (Some(one), None) | (None, Some(one)) if is_of_provider(&one) => {
                self.findings.add(
                    FindingState::Warning,
                    NAME,
                    "its key is one of Anthropic, which the gateway refuses",
                );
                self.findings
                    .mend("unset ANTHROPIC_API_KEY; export ANTHROPIC_AUTH_TOKEN=bardo_sk_…");
            }
            (None, None) => {
                self.findings.add(
                    FindingState::Note,
                    NAME,
                    "it has the address and no key, which is enough for a gateway without keys",
                );
                self.findings.mend("export ANTHROPIC_AUTH_TOKEN=bardo_sk_…");
            }
            _ => self
                .findings
                .add(FindingState::Ok, NAME, "its address and key are set"),
        }
    }

    fn codex(&mut self, home: Option<&Path>) {
        const NAME: &str = "Codex";
        let file = home.map(|home| home.join(".codex/config.toml"));
        let text = file.and_then(|file| std::fs::read_to_string(file).ok());
        let settings = text.and_then(|text| toml::from_str::<toml::Value>(&text).ok());
        let providers = settings
            .as_ref()
            .and_then(|settings| settings.get("model_providers")?.as_table());
        let base = self.base.clone();
        let found = providers.into_iter().flatten().find(|(_, provider)| {
            let url = provider.get("base_url").and_then(toml::Value::as_str);
            url.is_some_and(|url| is_gateway(url, &base))
        });
        let Some((name, provider)) = found else {
            self.findings.add(
                FindingState::Note,
                NAME,
                "~/.codex/config.toml has no provider with the gateway's address",
            );
            self.findings.mend("docs/clients.md#codex");
            return;
        };
        let variable = provider.get("env_key").and_then(toml::Value::as_str);
        let chosen = settings
            .as_ref()
            .and_then(|settings| settings.get("model_provider")?.as_str());
        let wire = provider.get("wire_api").and_then(toml::Value::as_str);
        if wire != Some("responses") {
            self.findings.add(
                FindingState::Warning,
                NAME,
                format!("its provider `{name}` has no `wire_api = \"responses\"`"),
            );
            self.findings.mend("wire_api = \"responses\"");
        } else if let Some(variable) = variable.filter(|variable| self.value(variable).is_none()) {
            self.findings.add(
                FindingState::Warning,
                NAME,
                format!("the variable {variable} of its key is not set"),
            );
            self.findings.mend(format!("export {variable}=bardo_sk_…"));
        } else if chosen != Some(name.as_str()) {
            self.findings.add(
                FindingState::Note,
                NAME,
                format!("its provider `{name}` is the gateway, and another one is chosen"),
            );
            self.findings.mend(format!("model_provider = \"{name}\""));
        } else {
            self.findings
                .add(FindingState::Ok, NAME, "its provider is the gateway");
        }
    }

    fn aider(&mut self) {
        const NAME: &str = "Aider and OpenAI SDKs";
        let base = format!("{}/v1", self.base);
        let set: Vec<(&str, String)> = ["OPENAI_API_BASE", "OPENAI_BASE_URL"]
            .into_iter()
            .filter_map(|name| Some((name, self.value(name)?.to_owned())))
            .collect();
        let line = format!(
            "export OPENAI_API_BASE={base} OPENAI_BASE_URL={base} OPENAI_API_KEY=bardo_sk_…"
        );
        if let [(_, first), (_, second)] = set.as_slice()
            && !is_gateway(first, second)
        {
            self.findings.add(
                FindingState::Warning,
                NAME,
                "OPENAI_API_BASE and OPENAI_BASE_URL are two addresses",
            );
            self.findings.mend(line);
            return;
        }
        match set.first() {
            None => {
                self.findings.add(
                    FindingState::Note,
                    NAME,
                    "OPENAI_API_BASE and OPENAI_BASE_URL are not set, so they call OpenAI itself",
                );
                self.findings.mend(line);
            }
            Some((name, url)) if !is_gateway(url, &base) => {
                self.findings.add(
                    FindingState::Warning,
                    NAME,
                    format!("{name} is another address than {base}"),
                );
                self.findings.mend(line);
            }
            Some(_) if self.value("OPENAI_API_KEY").is_some_and(is_of_provider) => {
                self.findings.add(
                    FindingState::Warning,
                    NAME,
                    "OPENAI_API_KEY is a key of OpenAI, which the gateway refuses",
                );
                self.findings.mend("export OPENAI_API_KEY=bardo_sk_…");
            }
            Some(_) => self
                .findings
                .add(FindingState::Ok, NAME, "the address is set"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(rows: &[(&str, &str)], subject: &str) -> DoctorFinding {
        let rows: Vec<(String, String)> = rows
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect();
        let all = check(&rows, None, None);
        all.into_iter()
            .find(|finding| finding.subject.starts_with(subject))
            .unwrap()
    }

    #[test]
    fn each_client_hears_what_it_lacks_and_what_contradicts() {
        let gateway = ("ANTHROPIC_BASE_URL", "http://localhost:8402/");
        let claude = |rows: &[(&str, &str)]| told(rows, "Claude Code");
        assert_eq!(claude(&[]).state, FindingState::Note);
        assert_eq!(
            claude(&[gateway, ("ANTHROPIC_AUTH_TOKEN", "bardo_sk_1")]).state,
            FindingState::Ok
        );
        let both = [
            gateway,
            ("ANTHROPIC_AUTH_TOKEN", "a"),
            ("ANTHROPIC_API_KEY", "b"),
        ];
        assert_eq!(
            claude(&both).mend.as_deref(),
            Some("unset ANTHROPIC_API_KEY")
        );
        assert_eq!(
            claude(&[gateway, ("ANTHROPIC_API_KEY", "sk-ant-1")]).state,
            FindingState::Warning
        );
        assert_eq!(
            claude(&[("ANTHROPIC_BASE_URL", "https://other.example")]).state,
            FindingState::Warning
        );
        assert_eq!(
            claude(&[gateway, ("CLAUDE_CODE_USE_BEDROCK", "1")]).state,
            FindingState::Warning
        );
        let two = [
            ("OPENAI_API_BASE", "http://127.0.0.1:8402/v1"),
            ("OPENAI_BASE_URL", "http://x/v1"),
        ];
        assert_eq!(told(&two, "Aider").state, FindingState::Warning);
        assert_eq!(told(&two[..1], "Aider").state, FindingState::Ok);
    }

    #[test]
    fn no_finding_has_a_key() {
        let secret = "sk-ant-CANARY";
        let rows = [
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "OPENAI_API_KEY",
            "ANTHROPIC_BASE_URL",
        ]
        .map(|name| (name.to_owned(), secret.to_owned()));
        for finding in check(&rows, None, None) {
            assert!(
                !finding.json().to_string().contains("CANARY"),
                "{finding:?}"
            );
        }
    }
}
