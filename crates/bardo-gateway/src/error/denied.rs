//! Refusals of credentials as HTTP.

use std::net::IpAddr;

use bardo_types::error_code::ErrorCode;

use super::Problem;
use crate::auth::Denied;

impl Problem {
    /// A caller was turned away. The log gets the reason, the caller less.
    pub(crate) fn denied(denied: Denied) -> Self {
        let mut problem = Self::of_denied(denied);
        problem.reason = Some(match denied {
            Denied::Missing => "no key",
            Denied::Wrong => "unknown key or wrong secret",
            Denied::Expired => "expired key",
            Denied::Revoked => "revoked key",
            Denied::Ambiguous => "keys of two accounts",
            Denied::ForeignPage => "page of another origin",
            Denied::ForeignHost => "name of another host",
            Denied::ReadOnly => "read-only key",
            Denied::Network => "address outside of the key's networks",
            Denied::Busy { .. } => "too many checks",
            Denied::Unavailable { .. } => "store unavailable",
        });
        problem
    }

    /// A refusal by the sandbox: `keys create` would make a key of a real store.
    pub(crate) fn in_sandbox(mut self) -> Self {
        if self.code == ErrorCode::InvalidKey {
            self.fault.message = "Incorrect API key provided. Send the key that `serve --sandbox` printed when it started"
                .into();
        }
        self
    }

    /// Names the address of the caller where the key is not allowed from it.
    pub(crate) fn called_from(mut self, denied: Denied, peer: IpAddr) -> Self {
        if denied == Denied::Network {
            let peer = peer.to_canonical();
            self.fault.message = format!(
                "this key is not allowed from the address {peer}; create a key for its network with `bardo-gateway keys \
                 create --scope ip={peer}`. Behind a proxy, the address is that of the proxy"
            )
            .into();
        }
        self
    }

    fn of_denied(denied: Denied) -> Self {
        match denied {
            Denied::Missing => Self::new(
                ErrorCode::MissingKey,
                "no API key was sent; send one as `Authorization: Bearer <key>` or `x-api-key: <key>`",
            ),
            // LiteLLM recognizes a wrong key by the first words.
            Denied::Wrong | Denied::Expired | Denied::Revoked => Self::new(
                ErrorCode::InvalidKey,
                "Incorrect API key provided. It is unknown, expired or revoked. Create a key with `bardo-gateway keys create` \
                 and send that one",
            ),
            Denied::Ambiguous => Self::new(
                ErrorCode::InvalidRequest,
                "`Authorization` and `x-api-key` contain keys of different accounts; send only one of them",
            ),
            Denied::ForeignPage => Self::new(
                ErrorCode::ForeignPage,
                "no key is configured, so the gateway refuses web pages of other origins; create a key with `bardo-gateway keys \
                 create`",
            ),
            Denied::ForeignHost => Self::new(
                ErrorCode::ForeignPage,
                "no key is configured, so the gateway accepts requests for `localhost` and 127.0.0.1 only; use that \
                 address, or create a key with `bardo-gateway keys create`",
            ),
            Denied::ReadOnly => Self::new(
                ErrorCode::KeyScope,
                "this key can only read models, balance, usage and receipts; send a key that begins with `bardo_sk_`",
            ),
            Denied::Network => Self::new(
                ErrorCode::KeyScope,
                "this key is not allowed from this address; create a key for its network with `bardo-gateway keys create \
                 --scope ip=10.0.0.0/8`",
            ),
            Denied::Busy { retry_after_ms } => Self::new(
                ErrorCode::KeyCheckBusy,
                "too many keys are being verified; try again later",
            )
            .retry_after(retry_after_ms),
            Denied::Unavailable { retry_after_ms } => Self::new(
                ErrorCode::StoreUnavailable,
                "the key cannot be verified because the key store is unavailable; try again later",
            )
            .retry_after(retry_after_ms),
        }
    }
}
