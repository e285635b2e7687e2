//! Tables of this crate's `data` folder.

use serde::de::DeserializeOwned;
use toml::Table;
use toml::de::Error;

/// Reads a table in two steps: the parser of TOML is compiled once, and not once more for each kind
/// of table.
///
/// # Errors
/// When the text is no TOML, or has other members than the table.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    text.parse::<Table>()?.try_into()
}
