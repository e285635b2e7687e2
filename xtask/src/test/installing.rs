//! The packages of the client programs, installed while other stages run.

use std::process::{Child, Command, Stdio};

use super::{CLIENTS, python};
use crate::{
    servers,
    workspace::{Profile, Workspace},
};

/// An installation in the background. Dropped, it waits for the end.
///
/// What fails here is tried again by the stage of the clients, which says why.
pub(super) struct Installing(Option<Child>);

impl Installing {
    /// Begins. Compilers and tests come first: it gets the time that they leave.
    pub(super) fn begin(workspace: &Workspace) -> Self {
        // Some clients check at once that the servers are there.
        let (Some(python), Ok(servers)) = (python(), servers::variables(workspace)) else {
            return Self(None);
        };
        let mut command = if cfg!(unix) {
            let mut last = Command::new("nice");
            last.args(["-n", "19", python]);
            last
        } else {
            Command::new(python)
        };
        let child = command
            .current_dir(workspace.root())
            .envs(servers)
            .args([CLIENTS, "--stage", "all", "--install-only", "--gateway"])
            .arg(workspace.binary(Profile::Release, "bardo-gateway"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(child.ok())
    }
}

impl Drop for Installing {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            child.wait().ok();
        }
    }
}
