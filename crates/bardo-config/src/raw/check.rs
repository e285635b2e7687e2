//! Checks what types alone cannot.

mod routing;

use bardo_types::ids::AccountId;
use bardo_types::unit::UnitInterval;

use super::{Config, Providers, SemanticCacheConfig};

pub use self::routing::{BACKENDS, known_backend_beside, usd};

/// Whether a text is an origin as browsers send it.
fn is_origin(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, host)| {
        !scheme.is_empty()
            && !host.is_empty()
            && !host.contains(['/', '*', ' ', '?', '#', '@'])
            && *text == text.to_ascii_lowercase()
    })
}

/// Collects what is wrong.
#[derive(Default)]
struct Problems(Vec<String>);

impl Problems {
    fn check(&mut self, checked: Result<(), String>) {
        self.0.extend(checked.err());
    }

    fn refuse_if(&mut self, is_wrong: bool, reason: &str) {
        if is_wrong {
            self.0.push(reason.to_owned());
        }
    }
}

/// Checks the settings of the semantic cache.
fn semantic(semantic: &SemanticCacheConfig, problems: &mut Problems) {
    for (key, share) in [
        ("min_similarity", semantic.min_similarity),
        ("audit_share", semantic.audit_share),
        ("baseline_share", semantic.baseline_share),
    ] {
        problems.check(
            UnitInterval::try_from(share)
                .map(drop)
                .map_err(|error| format!("`cache.semantic.{key}`: {error}")),
        );
    }
    problems.refuse_if(
        !(0.0001..=0.5).contains(&semantic.max_error),
        "`cache.semantic.max_error` must be from 0.0001 to 0.5",
    );
    if let Some(model) = &semantic.model {
        problems.refuse_if(
            model.path.as_os_str().is_empty(),
            "`cache.semantic.model.path` is empty; write the path of an ONNX file",
        );
        problems.refuse_if(
            !(1..=4_096).contains(&model.dimension),
            "`cache.semantic.model.dimension` must be from 1 to 4096",
        );
        problems.refuse_if(
            !(3..=8_192).contains(&model.max_tokens),
            "`cache.semantic.model.max_tokens` must be from 3 to 8192",
        );
    }
}

impl Config {
    /// Checks what types alone cannot.
    ///
    /// # Errors
    /// With the first problem.
    pub fn check(&self) -> Result<(), String> {
        self.problems().into_iter().next().map_or(Ok(()), Err)
    }

    /// All that is wrong with settings that could be read, one sentence each. A sentence begins
    /// with the place of its setting where that is one.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Problems::default();
        problems.check(self.inference.spread().map(drop));
        self.check_stores(&mut problems);
        self.check_upstream(&mut problems);
        self.check_server(&mut problems);
        self.check_auth(&mut problems);
        semantic(&self.cache.semantic, &mut problems);
        routing::check(self, &mut problems);
        problems.0.extend(self.telemetry.problems());
        problems.0
    }

    fn check_stores(&self, problems: &mut Problems) {
        let url = self.store.url.expose();
        let is_postgres = url.starts_with("postgres://") || url.starts_with("postgresql://");
        problems.refuse_if(
            !matches!(url, "" | "sqlite") && !is_postgres,
            "`store.url` must be \"sqlite\" or begin with postgres://",
        );
        problems.refuse_if(
            self.limits.instances == 0,
            "`limits.instances` must be at least 1",
        );
    }

    fn check_upstream(&self, problems: &mut Problems) {
        problems.refuse_if(
            self.upstream.max_attempts == 0,
            "`upstream.max_attempts` must be at least 1",
        );
        let breaker = &self.upstream.breaker;
        for (key, share) in [
            ("retry_budget", self.upstream.retry_budget),
            ("breaker.error_rate", breaker.error_rate),
        ] {
            let share = UnitInterval::try_from(share);
            problems.check(
                share
                    .map(drop)
                    .map_err(|error| format!("`upstream.{key}`: {error}")),
            );
        }
        for (key, count) in [
            ("failures", breaker.failures),
            ("connect_failures", breaker.connect_failures),
            ("min_samples", breaker.min_samples),
        ] {
            problems.refuse_if(count == 0, &format!(
                "`upstream.breaker.{key}` must be at least 1; to disable the circuit breaker, set `upstream.breaker.enabled: false`"
            ));
        }
    }

    fn check_server(&self, problems: &mut Problems) {
        let server = &self.server;
        problems.refuse_if(
            server.max_bodies.0 < server.max_body.0,
            "`server.max_bodies` must be at least `server.max_body`",
        );
        for origin in &server.cors.origins {
            problems.refuse_if(origin != "*" && !is_origin(origin), &format!(
                "`server.cors.origins`: `{origin}` is not an origin; write scheme, host and port without a path, such as \
                 `https://app.example.com`"
            ));
        }
        problems.refuse_if(
            server.max_header.0 > 1 << 20,
            "`server.max_header` must be at most 1MiB",
        );
        problems.refuse_if(
            !server.admin_listen.ip().is_loopback() && server.admin_token.is_empty(),
            &format!(
                "`server.admin_listen` is {}, which other machines can reach; set `server.admin_token`, or listen on \
                 127.0.0.1",
                server.admin_listen
            ),
        );
        let reads = &server.admin_read_token;
        problems.refuse_if(
            !reads.is_empty() && (server.admin_token.is_empty() || *reads == server.admin_token),
            "`server.admin_read_token` needs a `server.admin_token` that differs from it",
        );
    }

    fn check_auth(&self, problems: &mut Problems) {
        if let Some(privy) = &self.auth.privy {
            let fits = |b: u8| b.is_ascii_alphanumeric() || b"-_".contains(&b);
            problems.refuse_if(
                privy.app_id.is_empty() || !privy.app_id.bytes().all(fits),
                "`auth.privy.app_id` must be the id of an application: letters, digits, `-` and `_`",
            );
            problems.refuse_if(
                privy.jwks_url.is_some() && privy.jwks_file.is_some(),
                "`auth.privy` has both `jwks_url` and `jwks_file`; remove one",
            );
        }
        for (index, key) in self.auth.keys.iter().enumerate() {
            let id = AccountId::parse(&key.id);
            problems.check(
                id.map(drop)
                    .map_err(|error| format!("`auth.keys[{index}].id`: {error}")),
            );
            problems.refuse_if(
                key.key.expose().len() < 16,
                &format!("`auth.keys[{index}].key` must have at least 16 characters"),
            );
            let earlier = &self.auth.keys[..index];
            problems.refuse_if(
                earlier.iter().any(|earlier| earlier.id == key.id),
                &format!("`auth.keys[{index}].id`: `{}` is used twice", key.id),
            );
        }
    }

    /// Whether any backend is configured.
    pub fn has_providers(&self) -> bool {
        let Providers {
            blockrun,
            openrouter,
            venice,
            bankr,
            local,
            direct,
        } = &self.providers;
        blockrun.is_some()
            || openrouter.is_some()
            || venice.is_some()
            || bankr.is_some()
            || local.is_some()
            || direct
                .as_ref()
                .is_some_and(|direct| !direct.keys.is_empty())
    }
}
