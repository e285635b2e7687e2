//! One hint as a header or a body gives it.

use std::borrow::Cow;

use bardo_wire::codec::BadRequest;
use serde_json::Value;

/// A value, and where it stands.
pub(super) enum Given<'a> {
    /// The value of a header.
    Text(&'a str),
    /// A member of the body, within the object of this prefix.
    Json(&'a Value, &'static str),
}

impl Given<'_> {
    /// Where the value stands, for refusals.
    pub(super) fn place(&self, name: &str) -> String {
        match self {
            Self::Text(_) => name.to_owned(),
            Self::Json(_, within) => format!("bardo.{within}{name}"),
        }
    }

    /// Whether a hint without effect asks for what happens anyway.
    pub(super) fn asks_for_nothing(&self, name: &str) -> bool {
        match self {
            Self::Json(Value::Bool(false), _) => true,
            Self::Json(Value::Array(items), _) => items.is_empty(),
            other => match (name, other.as_text().map(str::trim)) {
                ("transforms", Some("default" | "none")) | ("batch", Some("false")) => true,
                (_, text) => text == Some(""),
            },
        }
    }

    fn wrong(&self, name: &str, expected: &str) -> BadRequest {
        let place = self.place(name);
        let message = format!("`{name}` must be {expected}");
        BadRequest::new(place, message)
    }

    /// The text, where it is one.
    fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Json(Value::String(text), _) => Some(text),
            Self::Json(..) => None,
        }
    }

    pub(super) fn text(&self, name: &str) -> Result<&str, BadRequest> {
        self.as_text().ok_or_else(|| self.wrong(name, "a string"))
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, BadRequest> {
        match self {
            Self::Text(text) if text.trim().eq_ignore_ascii_case("true") => Ok(true),
            Self::Text(text) if text.trim().eq_ignore_ascii_case("false") => Ok(false),
            Self::Json(Value::Bool(flag), _) => Ok(*flag),
            Self::Text(_) | Self::Json(..) => Err(self.wrong(name, "true or false")),
        }
    }

    /// A number, also in quotes, where also `NaN` may come from.
    pub(super) fn number(&self, name: &str) -> Result<f64, BadRequest> {
        let number = match self {
            Self::Json(Value::Number(number), _) => number.as_f64(),
            other => other.as_text().and_then(|text| text.trim().parse().ok()),
        };
        number.ok_or_else(|| self.wrong(name, "a number"))
    }

    /// A number as it was written.
    pub(super) fn decimal(&self, name: &str) -> Result<Cow<'_, str>, BadRequest> {
        match self {
            Self::Json(Value::Number(number), _) => Ok(Cow::Owned(number.to_string())),
            other => other
                .as_text()
                .map(Cow::Borrowed)
                .ok_or_else(|| self.wrong(name, "an amount in USD")),
        }
    }

    /// Several names; a header separates them by commas.
    pub(super) fn list(&self, name: &str) -> Result<Vec<String>, BadRequest> {
        let split = |text: &str| {
            text.split(',')
                .map(|name| name.trim().to_owned())
                .filter(|name| !name.is_empty())
                .collect()
        };
        let names = match self {
            Self::Json(Value::Array(items), _) => items
                .iter()
                .map(|item| item.as_str().map(str::to_owned))
                .collect(),
            Self::Json(..) => None,
            Self::Text(text) => Some(split(text)),
        };
        names.ok_or_else(|| self.wrong(name, "a list of names"))
    }
}
