//! Attributes of spans and data points.

use bardo_types::money::MicroUsd;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue};

/// A list of attributes under construction. A value that is absent adds nothing.
#[derive(Debug, Default)]
pub(crate) struct Attributes(Vec<KeyValue>);

impl Attributes {
    pub(crate) fn with_capacity(count: usize) -> Self {
        Self(Vec::with_capacity(count))
    }

    fn add(&mut self, key: &str, value: Value) {
        self.0.push(KeyValue {
            key: key.to_owned(),
            value: Some(AnyValue { value: Some(value) }),
            ..KeyValue::default()
        });
    }

    pub(crate) fn text(&mut self, key: &str, text: impl Into<String>) -> &mut Self {
        self.add(key, Value::StringValue(text.into()));
        self
    }

    pub(crate) fn some_text(&mut self, key: &str, text: Option<&str>) -> &mut Self {
        if let Some(text) = text {
            self.text(key, text);
        }
        self
    }

    pub(crate) fn count(&mut self, key: &str, count: u64) -> &mut Self {
        self.add(key, Value::IntValue(whole(count)));
        self
    }

    pub(crate) fn flag(&mut self, key: &str, flag: bool) -> &mut Self {
        self.add(key, Value::BoolValue(flag));
        self
    }

    pub(crate) fn number(&mut self, key: &str, number: f64) -> &mut Self {
        self.add(key, Value::DoubleValue(number));
        self
    }

    /// Adds a list, unless it is empty.
    pub(crate) fn texts(
        &mut self,
        key: &str,
        texts: impl IntoIterator<Item = String>,
    ) -> &mut Self {
        let values: Vec<AnyValue> = texts
            .into_iter()
            .map(|text| AnyValue {
                value: Some(Value::StringValue(text)),
            })
            .collect();
        if !values.is_empty() {
            self.add(key, Value::ArrayValue(ArrayValue { values }));
        }
        self
    }

    /// Adds an amount as an integer, in 10^-6 USD.
    pub(crate) fn money(&mut self, key: &str, amount: Option<MicroUsd>) -> &mut Self {
        if let Some(amount) = amount {
            self.count(key, amount.get());
        }
        self
    }

    pub(crate) fn done(self) -> Vec<KeyValue> {
        self.0
    }
}

/// A count as the signed integer that the protocol has; the largest one if it does not fit.
pub(crate) fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// An amount in USD for readers that take a fraction. Sums are made of the integers, never of this.
pub(crate) fn usd(amount: MicroUsd) -> f64 {
    amount.to_string().parse().unwrap_or_default()
}
