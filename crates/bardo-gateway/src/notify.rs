//! Messages to the service manager: systemd starts what depends on the gateway once it is ready, and
//! shows what it does. They are datagrams to the socket that `NOTIFY_SOCKET` names, which is set for
//! units with `Type=notify`. Without that variable nothing is sent, and a lost message is no failure.

use std::ffi::OsStr;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// Time beyond the drain in which the process ends: to settle open requests and to close the store.
const END: Duration = Duration::from_secs(30);

/// A step in the life of the process.
#[derive(Clone, Copy)]
pub(crate) enum ProcessStep {
    /// The listeners answer, at the start and after a reload, whether or not the reload succeeded.
    Ready,
    /// The configuration is being read again.
    Reloading,
    /// Open requests finish for at most this time.
    Stopping(Duration),
}

impl ProcessStep {
    fn message(self) -> String {
        match self {
            Self::Ready => "READY=1\nSTATUS=serving".to_owned(),
            Self::Reloading => "RELOADING=1\nSTATUS=reading the configuration again".to_owned(),
            // However short `TimeoutStopSec` is, the manager waits for the drain.
            Self::Stopping(drain) => format!(
                "STOPPING=1\nSTATUS=draining: open requests finish first\nEXTEND_TIMEOUT_USEC={}",
                (drain + END).as_micros()
            ),
        }
    }
}

/// Tells the service manager, if there is one.
pub(crate) fn tell(step: ProcessStep) {
    if let Some(address) = std::env::var_os("NOTIFY_SOCKET") {
        send(&address, &step.message());
    }
}

fn send(address: &OsStr, message: &str) {
    let sent = socket_address(address).and_then(|address| {
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        socket.send_to_addr(message.as_bytes(), &address)
    });
    if let Err(error) = sent {
        tracing::debug!(%error, "no message reached the service manager");
    }
}

/// A path or, on Linux, a name without a file: it begins with `@`.
fn socket_address(address: &OsStr) -> std::io::Result<SocketAddr> {
    #[cfg(target_os = "linux")]
    {
        use std::os::linux::net::SocketAddrExt as _;
        use std::os::unix::ffi::OsStrExt as _;
        if let Some(name) = address.as_bytes().strip_prefix(b"@") {
            return SocketAddr::from_abstract_name(name);
        }
    }
    SocketAddr::from_pathname(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    fn received(socket: &UnixDatagram) -> String {
        let mut bytes = [0; 512];
        let length = socket.recv(&mut bytes).expect("a datagram");
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_socket_without_a_file_gets_the_message() {
        use std::os::linux::net::SocketAddrExt as _;
        let name = format!("bardo-notify-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let socket = UnixDatagram::bind_addr(&address).expect("a free name");
        send(
            OsStr::new(&format!("@{name}")),
            &ProcessStep::Ready.message(),
        );
        assert_eq!(received(&socket), "READY=1\nSTATUS=serving");
    }

    #[test]
    fn the_manager_waits_for_the_drain_and_what_follows() {
        let message = ProcessStep::Stopping(Duration::from_secs(300)).message();
        assert!(message.starts_with("STOPPING=1\n"), "{message}");
        assert!(
            message.ends_with("\nEXTEND_TIMEOUT_USEC=330000000"),
            "{message}"
        );
    }

    #[test]
    fn a_missing_socket_is_no_failure() {
        send(OsStr::new("/nonexistent/notify"), "READY=1");
        send(OsStr::new(""), "READY=1");
    }
}
