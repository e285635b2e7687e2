//! Scripts, styles and the icon, as bytes of the binary.

/// A file that pages load.
#[derive(Debug, Clone, Copy)]
pub struct Asset {
    /// Name of the file in `assets`.
    pub name: &'static str,
    /// Its media type.
    pub kind: &'static str,
    /// The bytes of the file as browsers get them.
    pub bytes: &'static [u8],
}

macro_rules! asset {
    ($name:literal, $kind:literal) => {
        Asset {
            name: $name,
            kind: $kind,
            bytes: include_bytes!(concat!("../assets/", $name)),
        }
    };
}

/// Every file that pages load.
pub const ALL: [Asset; 7] = [
    asset!("htmx.min.js", "text/javascript; charset=utf-8"),
    asset!("uPlot.iife.min.js", "text/javascript; charset=utf-8"),
    asset!("uPlot.min.css", "text/css; charset=utf-8"),
    asset!("console.css", "text/css; charset=utf-8"),
    asset!("console.js", "text/javascript; charset=utf-8"),
    asset!("playground.js", "text/javascript; charset=utf-8"),
    asset!("icon.svg", "image/svg+xml"),
];

impl Asset {
    /// A digest of the content for addresses: a new content gets a new address, so that browsers may
    /// keep a file for good. It protects against nothing.
    #[must_use]
    pub fn tag(&self) -> String {
        // FNV-1a.
        let digest = self
            .bytes
            .iter()
            .fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| {
                (digest ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
            });
        format!("{digest:016x}")
    }
}

/// The file of a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Asset> {
    ALL.iter().find(|asset| asset.name == name)
}

/// The address of a file, with its tag. Empty for an unknown name.
#[must_use]
pub fn address(name: &str) -> String {
    static ADDRESSES: std::sync::LazyLock<Vec<(&str, String)>> = std::sync::LazyLock::new(|| {
        let address = |asset: &'static Asset| {
            (
                asset.name,
                format!("/console/assets/{}/{}", asset.tag(), asset.name),
            )
        };
        ALL.iter().map(address).collect()
    });
    let found = ADDRESSES.iter().find(|(known, _)| *known == name);
    found.map_or_else(String::new, |(_, address)| address.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    const README: &str = include_str!("../assets/README.md");

    #[test]
    fn an_address_names_the_content() {
        let address = address("console.css");
        let tag = find("console.css").map(Asset::tag).unwrap_or_default();
        assert_eq!(address, format!("/console/assets/{tag}/console.css"));
        assert_eq!(super::address("nothing"), "");
    }

    #[test]
    fn every_file_of_another_project_is_listed_with_its_licence() {
        for name in ["htmx.min.js", "uPlot.iife.min.js", "uPlot.min.css"] {
            assert!(README.contains(&format!("| `{name}` |")), "{name}");
        }
    }
}
