//! Networks that a key may be used from.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Why a text is no network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an IP address or a network; write it like 10.0.0.0/8 or 2001:db8::/32")]
pub struct InvalidNetwork(pub String);

/// An address with the number of its leading bits that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Network {
    /// Its first address.
    pub address: IpAddr,
    /// Leading bits that count.
    pub bits: u8,
}

impl FromStr for Network {
    type Err = InvalidNetwork;

    /// Reads `10.0.0.0/8`, `2001:db8::/32` or a single address. Bits beyond the prefix are cleared,
    /// so that `10.1.2.3/8` is the network that contains it.
    fn from_str(text: &str) -> Result<Self, InvalidNetwork> {
        let invalid = || InvalidNetwork(text.to_owned());
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| invalid())?;
        let width = width(address);
        let bits = match bits {
            None => width,
            Some(bits) => Some(bits)
                .filter(|bits| bits.len() <= 3 && bits.bytes().all(|b| b.is_ascii_digit()))
                .and_then(|bits| bits.parse().ok())
                .filter(|bits| *bits <= width)
                .ok_or_else(invalid)?,
        };
        let (address, bits) = match (address.to_canonical(), bits) {
            // `::ffff:10.0.0.0/104` is the IPv4 network 10.0.0.0/8; a shorter prefix reaches
            // beyond the mapped addresses and stays what it is.
            (canonical @ IpAddr::V4(_), bits) if address.is_ipv6() && bits >= 96 => {
                (canonical, bits - 96)
            }
            (_, bits) => (address, bits),
        };
        Ok(Self {
            address: masked(address, bits),
            bits,
        })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl Network {
    /// Whether `address` lies in it. A caller of IPv4 on a socket of both families arrives as
    /// `::ffff:a.b.c.d` and counts as the IPv4 address that it is.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.address.is_ipv4() == address.is_ipv4()
            && masked(address, self.bits) == masked(self.address, self.bits)
    }
}

const fn width(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

fn masked(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let cleared = 32u32.saturating_sub(bits.into());
            let mask = u32::MAX.checked_shl(cleared).unwrap_or(0);
            Ipv4Addr::from_bits(address.to_bits() & mask).into()
        }
        IpAddr::V6(address) => {
            let cleared = 128u32.saturating_sub(bits.into());
            let mask = u128::MAX.checked_shl(cleared).unwrap_or(0);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(network: &str, inside: &[&str], outside: &[&str]) {
        let network: Network = network.parse().unwrap();
        for address in inside {
            assert!(network.contains(address.parse().unwrap()), "{address}");
        }
        for address in outside {
            assert!(!network.contains(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn an_address_is_in_the_network_of_its_leading_bits() {
        check(
            "10.0.0.0/8",
            &["10.0.0.0", "10.255.255.255", "::ffff:10.1.2.3"],
            &["9.255.255.255", "11.0.0.0", "::a00:1"],
        );
        check("192.0.2.7", &["192.0.2.7"], &["192.0.2.6", "192.0.2.8"]);
        check("192.0.2.128/25", &["192.0.2.128"], &["192.0.2.127"]);
        check("0.0.0.0/0", &["1.2.3.4", "::ffff:1.2.3.4"], &["::1"]);
        check(
            "2001:db8::/32",
            &["2001:db8:ffff::1"],
            &["2001:db9::", "1.2.3.4"],
        );
        check("::1", &["::1"], &["::2", "127.0.0.1"]);
        check("::/0", &["::1", "2001:db8::"], &["127.0.0.1"]);
        check("::ffff:10.0.0.0/104", &["10.9.9.9"], &["11.0.0.0"]);
    }

    #[test]
    fn a_network_is_written_by_its_first_address() {
        for (text, shown) in [
            ("10.1.2.3/8", "10.0.0.0/8"),
            ("10.1.2.3", "10.1.2.3/32"),
            ("2001:DB8::5/32", "2001:db8::/32"),
            ("::ffff:10.1.2.3", "10.1.2.3/32"),
        ] {
            let network: Network = text.parse().unwrap();
            assert_eq!(network.to_string(), shown);
            assert_eq!(network.to_string().parse::<Network>().unwrap(), network);
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for bad in [
            "",
            "10.0.0.0/33",
            "10.0.0.0/",
            "10.0.0.0/-1",
            "10.0.0.0/+8",
            "10.0.0/8",
            "::/129",
            "::1%eth0",
            "localhost",
            "10.0.0.0/8/8",
            " 10.0.0.0/8",
        ] {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
    }
}
