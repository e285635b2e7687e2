//! A program that ends when this process does, whatever ends it, under a user who may run it.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::ServerError;

/// How long a server may take to say that it is ready.
const START_MAX: Duration = Duration::from_secs(60);

/// How long a server may take to stand still.
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// Sends the server the signals that it is told line by line, until one that ends it, or until the
/// end of its input, which comes when the process that holds the other end is gone; in that case
/// the server's folder goes too.
const SUPERVISOR: &str = r#"
signal=$1 folder=$2; shift 2
"$@" </dev/null &
server=$!
exec >/dev/null 2>&1
while read -r asked; do
    kill -"$asked" "$server"
    case $asked in STOP | CONT) ;; *) wait "$server"; exit ;; esac
done
kill -"$signal" "$server"
kill -CONT "$server"
wait "$server"
cd / && rm -rf "$folder"
"#;

/// A folder for a server, removed with this value, and whose it is.
pub(super) struct Folder {
    path: PathBuf,
    /// Whom servers run as, where that is somebody else: Postgres refuses root.
    owner: Option<(u32, u32)>,
}

impl Folder {
    pub(super) fn new(name: &str) -> Result<Self, ServerError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("bardo-{name}-{}-{number}", std::process::id()));
        Self::make(path).map_err(ServerError::io("make a folder for a server"))
    }

    fn make(path: PathBuf) -> io::Result<Self> {
        fs::create_dir(&path)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
        // What a process makes is its own, which says who it is without asking the system.
        let owner = (fs::metadata(&path)?.uid() == 0).then(nobody);
        if let Some((user, group)) = owner {
            chown(&path, Some(user), Some(group))?;
        }
        Ok(Self { path, owner })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A command that runs as the owner of the folder, in it.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        // A locale of the caller's that is not installed would be an error to `initdb`.
        command.current_dir(&self.path).env("LC_ALL", "C");
        if let Some((user, group)) = self.owner {
            command.uid(user).gid(group);
        }
        command
    }

    /// The folder or file `what`, or a copy of it where its place is closed to the folder's owner,
    /// as a home directory usually is.
    ///
    /// The result keeps the name of `what`, even where `what` is a link: Debian's `redis-server` is
    /// a link to `redis-check-rdb`, and the program chooses its job by the name that started it.
    pub(super) fn within_reach(&self, what: &Path) -> Result<PathBuf, ServerError> {
        let doing = "copy a server's programs to where they can be run";
        let name = what.file_name().unwrap_or_default();
        let real = what.canonicalize().map_err(ServerError::io(doing))?;
        let place = what.parent().unwrap_or(what).canonicalize();
        let what = place.map_err(ServerError::io(doing))?.join(name);
        let closed = |dir: &Path| {
            fs::metadata(dir).is_ok_and(|place| place.permissions().mode() & 0o001 == 0)
        };
        let Some((user, group)) = self.owner else {
            return Ok(what);
        };
        let mut above = what.ancestors().skip(1).chain(real.ancestors().skip(1));
        if !above.any(closed) {
            return Ok(what);
        }
        let mut copy = Command::new("cp");
        copy.arg("-RH").arg(&what).arg(&self.path);
        run(copy)?;
        // The copy is removed by its owner.
        let mut give = Command::new("chown");
        give.args(["-R", &format!("{user}:{group}")])
            .arg(&self.path);
        run(give)?;
        Ok(self.path.join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Left behind, it costs some disk space in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// The user and group of nobody.
fn nobody() -> (u32, u32) {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    users
        .lines()
        .find_map(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            let is_nobody = fields.first() == Some(&"nobody");
            let id = |at: usize| fields.get(at).and_then(|id| id.parse().ok());
            id(2).zip(id(3)).filter(|_| is_nobody)
        })
        .unwrap_or((65_534, 65_534))
}

/// Runs a tool to its end.
pub(super) fn run(mut command: Command) -> Result<(), ServerError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(ServerError::io("start a tool"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    Err(ServerError::Failed {
        program,
        output: String::from_utf8_lossy(&text).into_owned(),
    })
}

/// A server that runs.
pub(super) struct ServerProcess {
    supervisor: Child,
}

impl ServerProcess {
    /// Starts a server and waits until it prints `ready`. It is sent `signal` at the end.
    pub(super) fn start(
        server: &Command,
        signal: &str,
        ready: &'static str,
        folder: &Folder,
    ) -> Result<Self, ServerError> {
        let (reader, writer) = io::pipe().map_err(ServerError::io("make a pipe"))?;
        let mut command = folder.command(Path::new("/bin/sh"));
        command
            .args(["-c", SUPERVISOR, "sh", signal])
            .arg(folder.path())
            .arg(server.get_program())
            .args(server.get_args())
            .stdin(Stdio::piped())
            .stdout(
                writer
                    .try_clone()
                    .map_err(ServerError::io("share a pipe"))?,
            )
            .stderr(writer);
        let supervisor = command.spawn().map_err(ServerError::io("start a server"))?;
        // It holds writing ends of the pipe, whose end would never be seen.
        drop(command);
        let running = Self { supervisor };
        match wait_for(reader, ready) {
            Ok(()) => Ok(running),
            Err(output) => Err(ServerError::Failed {
                program: server.get_program().to_string_lossy().into_owned(),
                output,
            }),
        }
    }

    /// Sends the server a signal.
    pub(super) fn signal(&self, signal: &str) {
        if let Some(mut input) = self.supervisor.stdin.as_ref() {
            // When it is gone already there is nobody to tell.
            let _ = writeln!(input, "{signal}");
        }
    }

    /// Stops the server without ending it, and waits until it stands still.
    pub(super) fn pause(&self) {
        self.signal("STOP");
        let until = Instant::now() + PAUSE_MAX;
        while self.runs() && Instant::now() < until {
            std::thread::yield_now();
        }
    }

    /// Whether a child of the supervisor is not stopped; `false` where the system does not say.
    fn runs(&self) -> bool {
        let parent = self.supervisor.id().to_string();
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let stats = processes.filter_map(|one| fs::read_to_string(one.path().join("stat")).ok());
        stats.into_iter().any(|stat| {
            // The name before it may have spaces and brackets.
            let mut fields = stat
                .rsplit(')')
                .next()
                .unwrap_or_default()
                .split(' ')
                .skip(1);
            let state = fields.next();
            fields.next() == Some(parent.as_str()) && state != Some("T")
        })
    }

    /// Ends the server by `signal` and waits until it is gone.
    pub(super) fn stop(self, signal: &str) {
        self.signal(signal);
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        drop(self.supervisor.stdin.take());
        let _ = self.supervisor.wait();
    }
}

/// Reads what a server prints until it says that it is ready, and goes on reading, so that it
/// never waits for somebody to read. Fails with what it printed.
fn wait_for(output: io::PipeReader, ready: &'static str) -> Result<(), String> {
    let (tell, told) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let mut seen = Some(String::new());
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Some(text) = &mut seen {
                text.push_str(&line);
                text.push('\n');
                if line.contains(ready) {
                    seen = None;
                    let _ = tell.send(Ok(()));
                }
            }
        }
        if let Some(text) = seen {
            let _ = tell.send(Err(text));
        }
    });
    told.recv_timeout(START_MAX)
        .unwrap_or_else(|_| Err("it did not get ready in time".to_owned()))
}

/// A port that nobody listens at. Another program may take it before it is used: then the server
/// does not start, and is tried at the next.
pub(super) fn free_port() -> Result<u16, ServerError> {
    TcpListener::bind(("127.0.0.1", 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(ServerError::io("find a free port"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_a_link_keeps_the_name_that_it_is_started_by() {
        // Closed to everybody else, as a home directory is.
        let home = Folder::new("link-home").expect("a folder");
        let folder = Folder::new("link").expect("a folder");
        let program = home.path().join("redis-check-rdb");
        fs::write(&program, "#!/bin/sh").expect("a program");
        let link = home.path().join("redis-server");
        std::os::unix::fs::symlink(&program, &link).expect("a link");
        let found = folder.within_reach(&link).expect("a place");
        assert_eq!(found.file_name(), link.file_name());
        let text = fs::read_to_string(&found).expect("a program, not a link to nowhere");
        assert_eq!(text, "#!/bin/sh");
    }
}
