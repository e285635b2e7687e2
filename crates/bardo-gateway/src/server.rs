//! Listeners and worker threads. Each worker runs its own single-threaded runtime, so a request
//! with its connections stays on one core; one of them accepts for all.

use std::future::{Future as _, poll_fn};
use std::net::{SocketAddr, TcpListener as StdListener, TcpStream as StdStream};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Barrier, mpsc, watch};
use tokio::task::JoinSet;

use crate::edge::Edge;
use crate::write_timeout::WriteTimeout;

/// Connections that the system holds for the listener until it accepts them.
const BACKLOG: u16 = 4096;
/// Connections that a worker may have waiting to be taken up.
const HANDOVER: usize = 1024;
/// Time after the stop signal in which a request that is on its way over an open connection is still
/// read. It is answered with `draining`; without this time the client would see a reset.
const LAST_CALL: Duration = Duration::from_millis(100);
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
    socket.listen(i32::from(BACKLOG))?;
    Ok(socket.into())
}

/// Largest number of header lines of a request. hyper reserves their slots for every request, and
/// refuses more with a bare 431.
const HEADERS: usize = 256;
/// Period of the timer that each worker keeps pending. Tokio writes to the worker's own event
/// descriptor whenever a new timer is due before all others, which costs two system calls. The
/// timers of a connection and of a request are due later than this one, so they cost none.
const NEAREST_TIMER: Duration = Duration::from_secs(5);

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
    let all_done = Arc::new(Barrier::new(receivers.len()));
    receivers
        .into_iter()
        .enumerate()
        .map(|(index, receiver)| {
            let (edge, mut stop, acceptor) = (Arc::clone(edge), stop.clone(), acceptor.take());
            let all_done = Arc::clone(&all_done);
            let work = move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .expect("a runtime needs an epoll descriptor and nothing else");
                runtime.block_on(async move {
                    tokio::spawn(keep_a_timer_near());
                    let accepting = acceptor.map(|(listener, senders)| {
                        tokio::spawn(accept(listener, senders, stop.clone()))
                    });
                    serve(edge, receiver, read_timeout, stop.clone()).await;
                    // Requests of other workers may follow an answer that this one makes.
                    tokio::select! {
                        _ = all_done.wait() => {}
                        _ = stop.wait_for(|stop| *stop == StopPhase::Now) => {}
                    }
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

/// Keeps a timer pending that is due before those of connections.
async fn keep_a_timer_near() {
    let mut ticks = tokio::time::interval(NEAREST_TIMER);
    loop {
        ticks.tick().await;
    }
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
            _ = stop.wait_for(|stop| *stop != StopPhase::No) => break,
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
    // The system has accepted these connections, and their requests may have arrived.
    let Ok(listener) = listener.into_std() else {
        return;
    };
    let waiting = listener.incoming().map_while(Result::ok);
    for (stream, sender) in waiting.take(BACKLOG.into()).zip(senders.iter().cycle()) {
        if stream.set_nonblocking(true).is_ok() {
            let _ = sender.try_send(stream);
        }
    }
}

/// Serves connections until there can be no more, which is when the listener has closed, and until the
/// last of them is done.
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
        }
    }
    loop {
        tokio::select! {
            next = open.join_next() => if next.is_none() { return },
            _ = stop.wait_for(|stop| *stop == StopPhase::Now) => return,
        }
    }
}

/// Waits until the server stops.
///
/// A connection polls this at each of its steps. A poll of [`watch::Receiver::wait_for`] takes a
/// lock that all connections share, so that is done once and after news alone.
async fn stopping(mut stop: watch::Receiver<StopPhase>) {
    let seen = stop.clone();
    let mut stopped = std::pin::pin!(stop.wait_for(|stop| *stop != StopPhase::No));
    let mut is_waiting = false;
    poll_fn(|cx| {
        if is_waiting && matches!(seen.has_changed(), Ok(false)) {
            return Poll::Pending;
        }
        is_waiting = true;
        stopped.as_mut().poll(cx).map(drop)
    })
    .await;
}

async fn connection(
    edge: Arc<Edge>,
    stream: StdStream,
    read_timeout: Duration,
    stop: watch::Receiver<StopPhase>,
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
        () = stopping(stop) => {}
    }
    if tokio::time::timeout(LAST_CALL, connection.as_mut())
        .await
        .is_ok()
    {
        return;
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}
