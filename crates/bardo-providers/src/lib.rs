//! The services behind the gateway.
//!
//! A [`Provider`] describes one service: which dialects it serves for a model, under which path,
//! with which credentials, and how its model list reads. It is pure and never touches a socket;
//! adding one is one file and fixtures (`docs/adding-a-provider.md`). [`transport`] is the only way
//! out. [`payment`] is the port through which a service that asks for payment (HTTP 402) gets it.

pub mod endpoint;
pub mod payment;
pub mod provider;
pub mod transport;
pub mod wallet;

mod anthropic;
mod bankr;
mod blockrun;
mod compatible;
mod deepseek;
mod google;
mod local;
mod model_list;
mod openai;
mod openrouter;
mod venice;

pub use endpoint::{BUILT_IN, BaseUrl, Endpoint, EndpointConfig, InvalidUrl};
pub use provider::{
    ListError, ModelList, Operation, Provider, ProviderUsage, Quarantined, UpstreamCall, provider,
};
