//! The yardstick: the least a proxy on hyper can do.
//!
//! One current-thread runtime per core, each with its own upstream
//! connections; no routing, no parsing, head and body handed on as they come.

use std::{
    cell::RefCell,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
    thread,
};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use hyper::{
    Request, Response, Uri,
    body::{Body, Frame, Incoming, SizeHint},
    client::conn::http1::SendRequest,
    header::{CONNECTION, HOST, HeaderValue},
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, sync::mpsc};

use super::process;
use crate::load::{self, drive};

/// Options of the hidden `bench-floor`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where to forward to.
    #[arg(long)]
    upstream: SocketAddr,
}

/// Connections a worker may be behind in taking up.
const HANDOVER: usize = 4096;

/// Serves until it is killed.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let workers: Vec<_> = (0..cores).map(|_| start_worker(args.upstream)).collect();
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    process::announce(listener.local_addr()?);
    // Dealing connections out in turn keeps the workers equally loaded.
    for worker in workers.iter().cycle() {
        let (stream, _) = listener.accept()?;
        stream.set_nonblocking(true)?;
        worker.blocking_send(stream).context("a worker has ended")?;
    }
    Ok(true)
}

fn start_worker(upstream: SocketAddr) -> mpsc::Sender<std::net::TcpStream> {
    let (sender, mut accepted) = mpsc::channel::<std::net::TcpStream>(HANDOVER);
    thread::spawn(move || -> Result<()> {
        let pool = Rc::new(Pool::new(upstream)?);
        load::runtime()?.block_on(drive::local(async move {
            while let Some(stream) = accepted.recv().await {
                let stream = TcpStream::from_std(stream)?;
                stream.set_nodelay(true)?;
                let pool = Rc::clone(&pool);
                tokio::task::spawn_local(async move {
                    let service = service_fn(|request| forward(Rc::clone(&pool), request));
                    // A caller that leaves in the middle is part of every benchmark.
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
            Ok(())
        }))
    });
    sender
}

async fn forward(pool: Rc<Pool>, mut request: Request<Incoming>) -> Result<Response<Pooled>> {
    let path = request
        .uri()
        .path_and_query()
        .map_or("/", |path| path.as_str());
    *request.uri_mut() = Uri::try_from(path)?;
    request.headers_mut().insert(HOST, pool.host.clone());
    request.headers_mut().remove(CONNECTION);
    let mut sender = pool.take().await?;
    let response = sender.send_request(request).await?;
    Ok(response.map(|body| Pooled {
        body,
        sender: Some(sender),
        pool,
    }))
}

/// The idle upstream connections of one thread.
struct Pool {
    upstream: SocketAddr,
    host: HeaderValue,
    idle: RefCell<Vec<SendRequest<Incoming>>>,
}

impl Pool {
    fn new(upstream: SocketAddr) -> Result<Self> {
        Ok(Self {
            upstream,
            host: HeaderValue::from_str(&upstream.to_string())?,
            idle: RefCell::default(),
        })
    }

    async fn take(&self) -> Result<SendRequest<Incoming>> {
        loop {
            let idle = self.idle.borrow_mut().pop();
            let Some(mut sender) = idle else {
                return self.connect().await;
            };
            if sender.ready().await.is_ok() {
                return Ok(sender);
            }
        }
    }

    async fn connect(&self) -> Result<SendRequest<Incoming>> {
        let stream = TcpStream::connect(self.upstream).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::task::spawn_local(connection);
        Ok(sender)
    }
}

/// An upstream body that gives its connection back when it ends.
struct Pooled {
    body: Incoming,
    sender: Option<SendRequest<Incoming>>,
    pool: Rc<Pool>,
}

impl Body for Pooled {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        // One whose body was cut short is closed by hyper; `take` notices.
        if let Some(sender) = self.sender.take() {
            self.pool.idle.borrow_mut().push(sender);
        }
    }
}
