//! The accept loop: HTTP/1.1 over plain TCP, one task per connection.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use socket2::{Domain, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::answer_book::AnswerBook;
use crate::control;
use crate::fault::{self, Delivery};
use crate::player::{Aborted, Player, Step};
use crate::recorded::Recorded;
use crate::reply::Reply;
use crate::services::{self, Service};
use crate::wire::{Switches, Wire};
use crate::world::World;

/// Connections that may wait to be accepted; load tests open many at once.
const BACKLOG: i32 = 1024;

/// Where the sandbox listens and how it varies.
#[derive(Debug, Clone)]
pub struct SandboxConfig {
    /// Address to bind; port 0 picks a free one.
    pub listen: SocketAddr,
    /// Varies ids, signatures and embeddings; the same seed repeats every answer.
    pub seed: u64,
    /// Keys to accept. An empty list accepts any key that does not start with `bad`.
    pub keys: Vec<String>,
    /// Milliseconds between the pieces of a stream, so that people see it come; zero for tests and
    /// for load. A long stream is sent faster, and a script's own pace counts instead.
    pub pace_ms: u64,
    /// The time by which prompt caches and other stored objects expire, in Unix milliseconds.
    /// `None`: the clock of the machine.
    pub clock: Option<Arc<AtomicU64>>,
    /// Answers to questions that are known in advance.
    pub answers: AnswerBook,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            seed: 0,
            keys: Vec::new(),
            pace_ms: 0,
            clock: None,
            answers: AnswerBook::default(),
        }
    }
}

/// All simulated services behind one bound listener.
#[derive(Debug)]
pub struct Sandbox {
    listener: std::net::TcpListener,
    local_addr: SocketAddr,
    world: Arc<World>,
}

impl Sandbox {
    /// Binds the listener; connections wait until [`Sandbox::run`]. Needs no runtime.
    ///
    /// # Errors
    /// Whatever binding the address fails with.
    pub fn bind(config: SandboxConfig) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(config.listen), Type::STREAM, None)?;
        socket.set_reuse_address(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&config.listen.into())?;
        socket.listen(BACKLOG)?;
        let listener = std::net::TcpListener::from(socket);
        let local_addr = listener.local_addr()?;
        let world = World::new(config.seed, config.keys).paced(config.pace_ms);
        let world = Arc::new(world.prepared(config.clock, config.answers));
        Ok(Self {
            listener,
            local_addr,
            world,
        })
    }

    /// The address that was bound.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Serves until `shutdown` completes, then drops every open connection.
    ///
    /// # Errors
    /// If the runtime cannot watch the listener.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> io::Result<()> {
        let listener = TcpListener::from_std(self.listener)?;
        let mut shutdown = std::pin::pin!(shutdown);
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                () = &mut shutdown => return Ok(()),
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        connections.spawn(serve(stream, Arc::clone(&self.world)));
                    }
                    Err(error) => {
                        tracing::warn!(%error, "failed to accept a connection");
                        // Out of descriptors, most likely: give connections time to end.
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                },
            }
        }
    }
}

async fn serve(stream: TcpStream, world: Arc<World>) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "failed to set TCP_NODELAY");
    }
    let (wire, switches) = Wire::new(stream);
    let service =
        service_fn(move |request| answer(request, Arc::clone(&world), Arc::clone(&switches)));
    let connection = http1::Builder::new()
        .auto_date_header(true)
        .serve_connection(TokioIo::new(wire), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection ended early");
    }
}

async fn answer(
    request: Request<Incoming>,
    world: Arc<World>,
    switches: Arc<Switches>,
) -> Result<Response<Player>, Aborted> {
    switches.split(0);
    let (parts, body) = request.into_parts();
    // A client that leaves while it still uploads gets no answer and no journal entry.
    let body = body.collect().await.map_err(|_| Aborted)?.to_bytes();
    let path = parts.uri.path().to_owned();
    let found = services::find(&path);
    let mut recorded = Recorded {
        seq: 0,
        service: found.map_or("", |(service, _)| service.name),
        method: parts.method,
        path: found.map_or(path.as_str(), |(_, rest)| rest).to_owned(),
        query: parts.uri.query().map(str::to_owned),
        headers: parts.headers,
        body,
        faults: fault::Faults::default(),
    };
    if path.starts_with("/_sandbox") {
        let reply = control::handle(&recorded, &world);
        return Ok(plain(reply, world, switches));
    }
    recorded.seq = world.journal.open(&recorded, &path, world.now_ms());
    let delivery = match found {
        Some((service, _)) => delivered(service, &mut recorded, &world),
        None => Delivery::clean(control::unknown_service(&path)),
    };
    world.journal.answered(recorded.seq, delivery.status);
    if delivery.delay_headers_ms > 0 {
        tokio::time::sleep(Duration::from_millis(delivery.delay_headers_ms)).await;
    }
    if delivery.reset {
        switches.reset();
        world.journal.close(
            recorded.seq,
            0,
            0,
            crate::journal::Outcome::Fault,
            world.now_ms(),
        );
        return Err(Aborted);
    }
    switches.split(delivery.split_bytes);
    Ok(response(delivery, world, recorded.seq, switches))
}

fn delivered(service: &Service, recorded: &mut Recorded, world: &World) -> Delivery {
    recorded.faults = world.faults.take(recorded);
    let reply = match recorded.faults.status() {
        // A refusal comes before the request is even looked at, so nothing changes in the world.
        Some(status) => (service.refuse)(status, recorded),
        None => (service.handle)(recorded, world).visible(world.pace_ms),
    };
    let faults = recorded.faults.clone().and(&reply.faults);
    fault::apply(reply, &faults, service, recorded)
}

fn response(
    delivery: Delivery,
    world: Arc<World>,
    seq: u64,
    switches: Arc<Switches>,
) -> Response<Player> {
    let Delivery {
        status,
        headers,
        steps,
        length,
        faulted,
        ..
    } = delivery;
    let mut response = Response::new(Player::new(world, seq, switches, steps, length, faulted));
    *response.status_mut() =
        http::StatusCode::from_u16(status).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(&value)) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

/// An answer of the control surface, which is neither recorded nor faulted.
fn plain(reply: Reply, world: Arc<World>, switches: Arc<Switches>) -> Response<Player> {
    let mut delivery = Delivery::clean(reply);
    if delivery.steps.is_empty() {
        delivery.steps.push(Step::Send {
            bytes: Bytes::new(),
            event: false,
        });
    }
    response(delivery, world, 0, switches)
}
