//! Requests in other dialects for a seller that speaks Chat Completions alone.

use bardo_keystore::hex;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bardo_types::chat::StreamEvent;
use bardo_types::fault::{Fault, FaultClass};
use bardo_types::model::{Capabilities, Dialect, Service};
use bardo_wire::codec::{
    BadRequest, DecodeContext, ErrorView, ReplyContext, StreamDecoder, StreamEncoder, Target,
};
use bardo_wire::sse::SseParser;
use bardo_wire::table;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue, Method};
use http_body::{Body, Frame};

use crate::payer::now_s;
use crate::refusal::ProxyRefusal;
use crate::seller::Message;
use crate::seller_body::SellerBody;

/// Largest event of a stream, in bytes.
const EVENT_MAX: usize = 16 << 20;

/// One request on its way into another dialect, and its answer on the way back.
pub(crate) struct WireTranslation {
    caller: Dialect,
    decode: DecodeContext,
    reply: ReplyContext,
    body: Vec<u8>,
}

impl WireTranslation {
    /// Reads a request in `caller`'s dialect and writes it as Chat Completions.
    ///
    /// # Errors
    /// When it is wrong, or cannot be said there.
    pub(crate) fn of(caller: Dialect, body: &[u8]) -> Result<Self, ProxyRefusal> {
        let refuse = |refused: BadRequest| ProxyRefusal::Untranslatable {
            message: refused.message,
            param: refused.param,
        };
        let request = Arc::new(table::decode_request(caller, body).map_err(refuse)?);
        table::check_parts(&request, Dialect::Chat).map_err(refuse)?;
        let target = Target {
            model: request.model.clone(),
            service: Service::Compatible,
            capabilities: Arc::new(Capabilities::default()),
        };
        let encoded = table::encode_request(Dialect::Chat, &request, &target).map_err(refuse)?;
        let mut seed = [0; 12];
        // Ids need no secrecy; zeros in a machine without randomness do no harm.
        let _ = getrandom::fill(&mut seed);
        let id_seed = hex(&seed);
        Ok(Self {
            caller,
            reply: ReplyContext {
                request: Arc::clone(&request),
                id_seed: id_seed.clone(),
                created: now_s(),
                model: request.model.clone(),
                original: None,
            },
            decode: DecodeContext {
                target,
                request,
                renamed_tools: encoded.renamed_tools,
                id_seed,
            },
            body: encoded.body,
        })
    }

    /// The request for the seller.
    pub(crate) fn message(&self) -> Message {
        let json = HeaderValue::from_static("application/json");
        Message {
            method: Method::POST,
            path: "/v1/chat/completions".into(),
            headers: HeaderMap::from_iter([(CONTENT_TYPE, json)]),
            body: Bytes::from(self.body.clone()),
        }
    }

    /// Writes a whole answer for the client.
    ///
    /// # Errors
    /// When it is malformed, or tells of a failure.
    pub(crate) fn answer(&self, body: &[u8]) -> Result<Bytes, ProxyRefusal> {
        let response = table::decode_response(Dialect::Chat, body, &self.decode)
            .map_err(ProxyRefusal::Malformed)?;
        Ok(table::encode_response(self.caller, &response, &self.reply).into())
    }

    /// Writes a failure of the seller for the client.
    pub(crate) fn failure(&self, status: u16, body: &[u8]) -> Bytes {
        let fault = table::decode_error(Dialect::Chat, status, body, Service::Compatible);
        let view = ErrorView {
            fault: &fault,
            status,
            bardo_code: fault.error_code().as_str(),
            request_id: "",
        };
        table::encode_error(self.caller, &view).into()
    }

    /// Writes a stream for the client, event by event as it comes.
    pub(crate) fn stream(self, body: SellerBody, headers: &HeaderMap) -> TranslatedBody {
        let framed =
            headers.contains_key(TRANSFER_ENCODING) || headers.contains_key(CONTENT_LENGTH);
        TranslatedBody {
            source: Some(body),
            framed,
            parser: SseParser::new(EVENT_MAX),
            decoder: table::stream_decoder(Dialect::Chat, self.decode),
            encoder: table::stream_encoder(self.caller, self.reply),
            events: Vec::new(),
        }
    }
}

/// A stream in the client's dialect, made from one in the seller's.
pub(crate) struct TranslatedBody {
    /// `None` after the end.
    source: Option<SellerBody>,
    /// Whether HTTP marks the end of the body.
    framed: bool,
    parser: SseParser,
    decoder: Box<dyn StreamDecoder>,
    encoder: Box<dyn StreamEncoder>,
    events: Vec<StreamEvent>,
}

impl TranslatedBody {
    fn read(&mut self, bytes: &[u8]) {
        let Self {
            parser,
            decoder,
            events,
            ..
        } = self;
        let framed = parser.push(bytes, |event| decoder.event(event, events));
        if framed.is_err() {
            let fault = Fault::new(
                FaultClass::Malformed,
                "the endpoint sent an event of more than 16 MiB",
            );
            self.events.push(StreamEvent::Failed(fault));
        }
    }

    fn end(&mut self) {
        let Self {
            parser,
            decoder,
            events,
            ..
        } = self;
        parser.finish(|event| decoder.event(event, events));
        match self.framed {
            true => self.decoder.end_whole(&mut self.events),
            false => self.decoder.end(&mut self.events),
        }
    }

    /// The bytes of the events so far. Nothing follows the end of a stream.
    fn written(&mut self) -> Bytes {
        let mut out = Vec::new();
        for event in self.events.drain(..) {
            if matches!(event, StreamEvent::Done | StreamEvent::Failed(_)) {
                self.source = None;
            }
            self.encoder.encode(event, "", &mut out);
            if self.source.is_none() {
                break;
            }
        }
        out.into()
    }
}

impl Body for TranslatedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = &mut *self;
        while let Some(source) = &mut this.source {
            match std::task::ready!(Pin::new(source).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        this.read(&data);
                    }
                }
                Some(Err(_)) => {
                    let cut = Fault::new(FaultClass::Connection, "the endpoint's stream was cut");
                    this.events.push(StreamEvent::Failed(cut));
                }
                None => {
                    this.end();
                    let out = this.written();
                    this.source = None;
                    if out.is_empty() {
                        return Poll::Ready(None);
                    }
                    return Poll::Ready(Some(Ok(Frame::data(out))));
                }
            }
            let out = this.written();
            if !out.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(out))));
            }
        }
        Poll::Ready(None)
    }
}
