//! Sandboxes, sessions and workspaces of [cay](https://docs.rs/cay): code that has not been reviewed runs in a Linux of its
//! own, inside this process. Safe bindings of `cay/cay.h`, `cay/session.h` and `cay/workspace.h`.
//!
//! ```no_run
//! # fn main() -> Result<(), cay::Error> {
//! let engine = cay::Engine::new()?;
//! let sandbox = cay::Sandbox::new(&engine)?;
//! let result = sandbox.run("printf 'pear\\napple\\n' | sort")?;
//! assert_eq!(result.stdout, b"apple\npear\n");
//! # Ok(())
//! # }
//! ```
//!
//! With the feature `adk` (on by default), [`Client`] is a `SandboxClient` of the crate `adk-sandbox`: an agent that was
//! written for its traits changes the line that makes its client.

mod engine;
mod error;
mod sandbox;
mod session;
#[doc(hidden)]
pub mod sys;
mod workspace;

#[cfg(feature = "adk")]
mod adk;

#[cfg(feature = "adk")]
pub use adk::{Client, Session as ClientSession};
pub use engine::Engine;
pub use error::{Error, Status};
pub use sandbox::{End, Kind, RunOptions, RunResult, Sandbox, SandboxBuilder, Stat};
pub use session::{Evaluation, Outcome, Session};
pub use workspace::{
    Entry, Exec, ExecOptions, Manifest, PatchOptions, Process, SessionInfo, SnapshotInfo, Stream,
    WorkspaceCode,
    WorkspaceError, WorkspaceSession, Workspaces, WorkspacesBuilder,
};
