//! Listeners and worker threads. Each worker runs its own single-threaded runtime, so a request
//! with its connections stays on one core; one of them accepts for all.

use std::net::{SocketAddr, TcpListener as StdListener, TcpStream as StdStream};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::edge::Edge;
use crate::write_timeout::WriteTimeout;

/// Connections that a worker may have waiting to be taken up.
const HANDOVER: usize = 1024;
/// Above the limit that the edge checks, so that callers get its words and not hyper's.
const HEAD_BUFFER: usize = 2 << 20;

/// Binds a listener that survives quick restarts.
pub(crate) fn bind(address: SocketAddr) -> std::io::Result<StdListener> {
    let socket = socket2::Socket::new(
        socket2::Domain::for_address(address),
        socket2::Type::STREAM,
        None,
    )?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(4096)?;
    Ok(socket.into())
}

/// Largest number of header lines of a request. hyper reserves their slots for every request, and
/// refuses more with a bare 431.
const HEADERS: usize = 256;

/// Runs `workers` threads that serve `listener` until `stop` says so and their connections are
/// done, or until it says [`StopPhase::Now`].
pub(crate) fn run(
    edge: &Arc<Edge>,
    listener: StdListener,
    workers: usize,
    read_timeout: Duration,
    stop: &watch::Receiver<StopPhase>,
) -> Vec<std::thread::JoinHandle<()>> {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..workers)
        .map(|_| mpsc::channel::<StdStream>(HANDOVER))
        .unzip();
    let mut acceptor = Some((listener, senders));
    receivers
        .into_iter()
        .enumerate()
        .map(|(index, receiver)| {
            let (edge, stop, acceptor) = (Arc::clone(edge), stop.clone(), acceptor.take());
            let work = move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .expect("a runtime needs an epoll descriptor and nothing else");
                runtime.block_on(async move {
                    let accepting = acceptor.map(|(listener, senders)| {
                        tokio::spawn(accept(listener, senders, stop.clone()))
                    });
                    serve(edge, receiver, read_timeout, stop).await;
                    if let Some(accepting) = accepting {
                        accepting.abort();
                    }
                });
            };
            std::thread::Builder::new()
                .name(format!("worker-{index}"))
                .spawn(work)
                .expect("the operating system grants a handful of threads")
        })
        .collect()
}

/// How far stopping has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopPhase {
    /// The server accepts requests.
    No,
    /// No new work; what is under way goes on.
    Drain,
    /// Everything stops at once.
    Now,
}

async fn accept(
    listener: StdListener,
    senders: Vec<mpsc::Sender<StdStream>>,
    mut stop: watch::Receiver<StopPhase>,
) {
    let Ok(listener) = TcpListener::from_std(listener) else {
        return;
    };
    let mut next = 0;
    loop {
        let accepted = tokio::select! {
            _ = stop.wait_for(|stop| *stop != StopPhase::No) => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                if let Ok(stream) = stream.into_std() {
                    next = (next + 1) % senders.len();
                    // A worker that is a thousand connections behind gets no more; the caller sees
                    // a reset instead of an endless wait.
                    let _ = senders[next].try_send(stream);
                }
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn serve(
    edge: Arc<Edge>,
    mut connections: mpsc::Receiver<StdStream>,
    read_timeout: Duration,
    mut stop: watch::Receiver<StopPhase>,
) {
    let mut open = JoinSet::new();
    let for_connections = stop.clone();
    loop {
        tokio::select! {
            stream = connections.recv() => match stream {
                Some(stream) => {
                    open.spawn(connection(Arc::clone(&edge), stream, read_timeout, for_connections.clone()));
                }
                None => break,
            },
            Some(_) = open.join_next(), if !open.is_empty() => {}
            _ = stop.wait_for(|stop| *stop != StopPhase::No) => break,
        }
    }
    // Whoever was not taken up yet is turned away at once instead of after the last stream.
    drop(connections);
    loop {
        tokio::select! {
            next = open.join_next() => if next.is_none() { return },
            _ = stop.wait_for(|stop| *stop == StopPhase::Now) => return,
        }
    }
}

async fn connection(
    edge: Arc<Edge>,
    stream: StdStream,
    read_timeout: Duration,
    mut stop: watch::Receiver<StopPhase>,
) {
    let Ok(stream) = TcpStream::from_std(stream) else {
        return;
    };
    // Who left already needs no answer.
    let Ok(peer) = stream.peer_addr() else {
        return;
    };
    // Without this an answer in two writes waits for the caller's delayed acknowledgement.
    let _ = stream.set_nodelay(true);
    let stream = WriteTimeout::new(stream, edge.policy.load().limits.write_timeout);
    let service = service_fn(move |request| Arc::clone(&edge).handle(request, peer));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(read_timeout)
        .max_buf_size(HEAD_BUFFER)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // A caller that leaves, or sends no HTTP, is its own affair.
        _ = connection.as_mut() => return,
        _ = stop.wait_for(|stop| *stop != StopPhase::No) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}
