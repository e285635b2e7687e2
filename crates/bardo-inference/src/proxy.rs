//! The local server.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use bardo_types::model::Dialect;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};

use crate::exchange::{Exchange, Exchanged};
use crate::guard::ProxyGuard;
use crate::refusal::ProxyRefusal;
use crate::seller::{self, Message};
use crate::settings::dialect_name;
use crate::status::StatusLine;
use crate::translate::WireTranslation;

/// Longest body of a request, in MiB.
const BODY_MAX_MIB: usize = 64;

type ProxyBody = UnsyncBoxBody<Bytes, hyper::Error>;

/// The proxy between tools on this machine and one seller.
pub(crate) struct LocalProxy {
    pub(crate) exchange: Exchange,
    pub(crate) guard: ProxyGuard,
    pub(crate) status: Rc<StatusLine>,
    /// Dialects that the seller speaks; `None`: the proxy finds out.
    pub(crate) speaks: Option<BTreeSet<&'static str>>,
    /// The seller was found to speak Chat Completions alone.
    pub(crate) speaks_chat_alone: Cell<bool>,
}

/// Serves until this future is dropped.
pub(crate) async fn serve(proxy: Rc<LocalProxy>, listener: TcpListener) {
    loop {
        // An error is of one connection, or of a machine without free handles; both pass.
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::task::spawn_local(connection(Rc::clone(&proxy), stream));
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn connection(proxy: Rc<LocalProxy>, stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let proxy = Rc::clone(&proxy);
        async move { Ok::<_, Infallible>(proxy.answer(request).await) }
    });
    // A client that leaves ends this, and with it the call to the seller.
    let _ = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

impl LocalProxy {
    fn answer(&self, request: Request<Incoming>) -> impl Future<Output = Response<ProxyBody>> {
        // Futures of the codecs are large; they live on the heap once per request.
        Box::pin(async move {
            let dialect = dialect_of(request.uri().path());
            match self.checked(request, dialect).await {
                Ok(answer) => answer,
                Err(refusal) => refusal.answer(dialect).map(whole),
            }
        })
    }

    async fn checked(
        &self,
        request: Request<Incoming>,
        dialect: Dialect,
    ) -> Result<Response<ProxyBody>, ProxyRefusal> {
        self.guard.check_host(request.headers())?;
        if request.uri().path() == "/healthz" {
            return Ok(Response::new(whole(Bytes::from_static(b"ok\n"))));
        }
        self.guard.check_token(request.headers())?;
        if request.uri().path() == "/bardo/spend" {
            return Ok(Response::new(whole(self.status.json().into())));
        }
        let message = message(request).await?;
        let answer = self.forward(message, dialect).await;
        self.status.update();
        answer
    }

    async fn forward(
        &self,
        message: Message,
        dialect: Dialect,
    ) -> Result<Response<ProxyBody>, ProxyRefusal> {
        let name = dialect_name(dialect).filter(|name| *name != "chat");
        let Some(name) = name.filter(|_| is_generation(&message)) else {
            return Ok(relayed(self.exchange.send(&message).await?));
        };
        let speaks = match &self.speaks {
            Some(speaks) => Some(speaks.contains(name)),
            None if self.speaks_chat_alone.get() => Some(false),
            None => None,
        };
        if speaks == Some(false) {
            return self.translated(&message, dialect).await;
        }
        let exchanged = self.exchange.send(&message).await?;
        let unknown = [404, 405, 501].contains(&exchanged.answer.status().as_u16());
        if speaks.is_some() || exchanged.is_paid || !unknown {
            return Ok(relayed(exchanged));
        }
        let answer = self.translated(&message, dialect).await?;
        // A model that is unknown there too says nothing of the dialect.
        self.speaks_chat_alone.set(answer.status().is_success());
        Ok(answer)
    }

    /// Sends a request as Chat Completions, and writes the answer in the client's dialect.
    async fn translated(
        &self,
        message: &Message,
        dialect: Dialect,
    ) -> Result<Response<ProxyBody>, ProxyRefusal> {
        let translation = WireTranslation::of(dialect, &message.body)?;
        let exchanged = self.exchange.send(&translation.message()).await?;
        let status = exchanged.answer.status();
        let mut headers = seller::returned(exchanged.answer.headers());
        headers.remove(CONTENT_LENGTH);
        let is_stream = headers
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        let body = if status.is_success() && is_stream {
            let (head, body) = exchanged.answer.into_parts();
            translation.stream(body, &head.headers).boxed_unsync()
        } else {
            let told = self.exchange.seller.whole(exchanged.answer).await;
            let told = told.map_err(|error| match exchanged.is_paid {
                true => ProxyRefusal::PaidAnswerCut(error),
                false => ProxyRefusal::Seller(error),
            })?;
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            whole(match status.is_success() {
                true => translation.answer(&told.body)?,
                false => translation.failure(status.as_u16(), &told.body),
            })
        };
        let mut answer = Response::new(body);
        *answer.status_mut() = status;
        *answer.headers_mut() = headers;
        Ok(answer)
    }
}

/// The dialect of an endpoint, in which refusals are written.
fn dialect_of(path: &str) -> Dialect {
    if path.starts_with("/v1/messages") {
        Dialect::Anthropic
    } else if path.starts_with("/v1/responses") {
        Dialect::Responses
    } else {
        Dialect::Chat
    }
}

/// Whether a request asks for an answer of a model, which can be translated.
fn is_generation(message: &Message) -> bool {
    let path = message.path.split('?').next().unwrap_or_default();
    message.method == Method::POST && ["/v1/messages", "/v1/responses"].contains(&path)
}

async fn message(request: Request<Incoming>) -> Result<Message, ProxyRefusal> {
    let (head, body) = request.into_parts();
    let limit = BODY_MAX_MIB << 20;
    let body = Limited::new(body, limit)
        .collect()
        .await
        .map_err(|error| match error.downcast::<LengthLimitError>() {
            Ok(_) => ProxyRefusal::BodyTooLarge(BODY_MAX_MIB),
            Err(_) => ProxyRefusal::BodyCut,
        })?;
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    Ok(Message {
        method: head.method,
        path: path.to_owned(),
        headers: seller::forwarded(&head.headers),
        body: body.to_bytes(),
    })
}

/// The seller's answer as it is, byte for byte.
fn relayed(exchanged: Exchanged) -> Response<ProxyBody> {
    let (head, body) = exchanged.answer.into_parts();
    let mut answer = Response::new(body.boxed_unsync());
    *answer.status_mut() = head.status;
    *answer.headers_mut() = seller::returned(&head.headers);
    answer
}

fn whole(bytes: Bytes) -> ProxyBody {
    Full::new(bytes)
        .map_err(|never| match never {})
        .boxed_unsync()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_written_in_the_dialect_of_the_path() {
        for (path, dialect) in [
            ("/v1/messages", Dialect::Anthropic),
            ("/v1/messages/count_tokens", Dialect::Anthropic),
            ("/v1/responses", Dialect::Responses),
            ("/v1/chat/completions", Dialect::Chat),
            ("/", Dialect::Chat),
        ] {
            assert_eq!(dialect_of(path), dialect, "{path}");
        }
    }
}
