//! Traces: a receipt in, OTLP messages out. It knows no socket and no clock.
//!
//! A request is one SERVER span with an INTERNAL span for each stage and a CLIENT span for each
//! attempt. All of them follow from the receipt, so nothing is measured for them while a request
//! runs. Names and attributes are in `docs/telemetry.md`.

mod attributes;
mod ids;
mod langfuse;
mod meters;
mod names;
mod rows;
#[cfg(test)]
mod sample;
mod sampler;
mod server_attributes;
mod spans;
mod stages;

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};

use bardo_types::receipt::Receipt;
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans};
use prost::Message as _;

use crate::attributes::Attributes;
use crate::spans::SpanMaker;

pub use crate::meters::Meters;
pub use crate::rows::{batch_name, rows};
pub use crate::sampler::Sampler;

/// The address of a backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendAddress {
    /// Host name or IP address.
    pub address: String,
    /// TCP port of the address.
    pub port: u16,
}

/// The addresses of backends by their names, such as `direct/openai`.
pub type BackendAddresses = HashMap<String, BackendAddress>;

/// Attributes that an export has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceForm {
    /// Those of the GenAI conventions and the gateway's own.
    Conventions,
    /// Those and the ones that Langfuse prefers.
    Langfuse,
}

/// The source of telemetry: this process.
#[derive(Debug, Clone)]
pub struct TelemetrySource {
    resource: Resource,
    scope: InstrumentationScope,
}

impl TelemetrySource {
    /// A process of the service `service`. `instance` is its own name among those of the service;
    /// `more` are further attributes, which win over the others.
    #[must_use]
    pub fn new(
        service: &str,
        version: &str,
        instance: &str,
        more: &BTreeMap<String, String>,
    ) -> Self {
        let mut all = Attributes::default();
        for (key, value) in [
            (names::SERVICE_NAME, service),
            (names::SERVICE_VERSION, version),
            (names::SERVICE_INSTANCE, instance),
        ] {
            if !more.contains_key(key) {
                all.text(key, value);
            }
        }
        for (key, value) in more {
            all.text(key, value.as_str());
        }
        Self {
            resource: Resource {
                attributes: all.done(),
                ..Resource::default()
            },
            scope: InstrumentationScope {
                name: "bardo-gateway".to_owned(),
                version: version.to_owned(),
                ..InstrumentationScope::default()
            },
        }
    }

    /// The spans of these requests as an encoded `ExportTraceServiceRequest`.
    #[must_use]
    pub fn traces<R: Borrow<Receipt>>(
        &self,
        receipts: &[R],
        backends: &BackendAddresses,
        form: TraceForm,
    ) -> Vec<u8> {
        // The messages around the spans are written here: `prost` measures a message once more for
        // each message that it is in.
        let scope = ScopeSpans {
            scope: Some(self.scope.clone()),
            schema_url: names::SCHEMA_URL.to_owned(),
            ..ScopeSpans::default()
        };
        let mut scope = scope.encode_to_vec();
        let mut spans = Vec::with_capacity(16);
        for receipt in receipts {
            SpanMaker::new(receipt.borrow(), backends, form).add_to(&mut spans);
            for span in spans.drain(..) {
                scope.push(key_of(SPANS));
                span.encode_length_delimited(&mut scope)
                    .expect("a vector has room");
            }
        }
        let resource = ResourceSpans {
            resource: Some(self.resource.clone()),
            schema_url: names::SCHEMA_URL.to_owned(),
            ..ResourceSpans::default()
        };
        let mut resource = resource.encode_to_vec();
        put_message(SCOPE_SPANS, &scope, &mut resource);
        let mut request = Vec::with_capacity(resource.len() + 8);
        put_message(RESOURCE_SPANS, &resource, &mut request);
        request
    }
}

/// Field numbers of OTLP 1.x: `ExportTraceServiceRequest.resource_spans`, ...
const RESOURCE_SPANS: u8 = 1;
/// ... `ResourceSpans.scope_spans`, ...
const SCOPE_SPANS: u8 = 2;
/// ... and `ScopeSpans.spans`.
const SPANS: u8 = 2;

/// The key of a field that holds a message (Protocol Buffers, wire type LEN).
const fn key_of(field: u8) -> u8 {
    field << 3 | 2
}

/// Adds an encoded message as a field of another one.
fn put_message(field: u8, message: &[u8], into: &mut Vec<u8>) {
    into.push(key_of(field));
    prost::encode_length_delimiter(message.len(), into).expect("a vector has room");
    into.extend_from_slice(message);
}

#[cfg(test)]
mod tests;
