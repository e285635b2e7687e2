//! Registers the gateway as the agent's sole provider. That registration is the border of trust: the
//! budget is enforced behind it, and there is no other way out.

use std::sync::Arc;

use bardo_types::secret::Secret;

use crate::client::{Client, GatewayAddress, Inference};
use crate::extension::{Extension, Hook, Registration, StartContext};

/// The gateway's name among providers.
pub const GATEWAY: &str = "bardo";

/// Rules that the gateway enforces; the agent names them for its owner.
pub const MIDDLEWARE: [&str; 1] = ["budget-enforcer"];

/// The extension `bardo-provider-adapter`.
pub struct ProviderAdapter {
    endpoint: String,
    connection: Arc<dyn Inference>,
    allow_bypass: bool,
}

impl ProviderAdapter {
    /// The gateway at an address, with a key of it.
    #[must_use]
    pub fn new(endpoint: GatewayAddress, key: Option<&Secret>) -> Self {
        Self::over(Arc::new(Client::new(endpoint, key)))
    }

    /// The gateway that a client speaks to; the client may be used beside the agent.
    #[must_use]
    pub fn over(client: Arc<Client>) -> Self {
        Self::connected(client.endpoint().to_string(), client)
    }

    /// Something that answers as the gateway does.
    #[must_use]
    pub fn connected(endpoint: String, connection: Arc<dyn Inference>) -> Self {
        Self {
            endpoint,
            connection,
            allow_bypass: false,
        }
    }

    /// The owner's decision to let other providers be registered beside the gateway, e.g. for
    /// end-to-end encryption. Each such registration and each call over it is on record.
    #[must_use]
    pub fn allow_bypass(mut self) -> Self {
        self.allow_bypass = true;
        self
    }
}

impl std::fmt::Debug for ProviderAdapter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProviderAdapter")
            .field("endpoint", &self.endpoint)
            .field("allow_bypass", &self.allow_bypass)
            .finish_non_exhaustive()
    }
}

impl Extension for ProviderAdapter {
    fn name(&self) -> &'static str {
        "bardo-provider-adapter"
    }

    fn layer(&self) -> u8 {
        2
    }

    fn on_before_agent_start<'a>(&'a self, context: &'a mut StartContext) -> Hook<'a> {
        Box::pin(async move {
            let registration = Registration {
                id: GATEWAY.to_owned(),
                endpoint: self.endpoint.clone(),
                middleware: MIDDLEWARE.to_vec(),
                allow_bypass: self.allow_bypass,
                connection: Arc::clone(&self.connection),
            };
            Ok(context.register(registration)?)
        })
    }
}

#[cfg(test)]
mod tests;
