//! Networks that a key may be used from.

use std::net::IpAddr;

/// Why a text is no network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no address or network such as 10.0.0.0/8 or 2001:db8::/32")]
pub struct InvalidNetwork(pub String);

/// An address with the number of its leading bits that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Network {
    /// Its first address.
    pub address: IpAddr,
    /// Leading bits that count.
    pub bits: u8,
}
