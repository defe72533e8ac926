//! `SandboxClient` and `SandboxSession` of `adk-sandbox` over workspaces of cay.

use crate::workspace::{self, Exec, ExecOptions, PatchOptions, WorkspaceCode, WorkspaceError, Workspaces, WorkspacesBuilder};
use crate::{Engine, Kind, Status};
use adk_sandbox::SandboxError;
use adk_sandbox::workspace::{
    DirEntry, EntryType, ExecOutput, Manifest, ManifestEntry, SandboxClient, SandboxSession, SessionHandle, SnapshotId,
    validate_relative_path,
};
use async_trait::async_trait;
use std::path::Path;
use std::time::Duration;

/// A `SandboxClient` whose workspaces are sandboxes of cay. It stands where `LocalUnixClient` or `DockerClient` stood:
///
/// ```no_run
/// # fn main() -> Result<(), adk_sandbox::SandboxError> {
/// let client = cay::Client::open("/var/lib/agent/snapshots")?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Client {
    workspaces: Workspaces,
}

impl Client {
    /// A client with the installed guests, and a store of snapshots in `folder`.
    pub fn open(folder: impl AsRef<Path>) -> Result<Client, SandboxError> {
        let engine = Engine::new().map_err(no_engine)?;
        let builder = WorkspacesBuilder { store: Some(folder.as_ref().to_path_buf()), ..Default::default() };
        Ok(Client { workspaces: builder.open(&engine).map_err(SandboxError::from)? })
    }

    /// Over a client that was made otherwise, as with limits or rules for the network.
    pub fn new(workspaces: Workspaces) -> Client {
        Client { workspaces }
    }

    /// The whole of what cay can do with workspaces, beside the traits.
    pub fn workspaces(&self) -> &Workspaces {
        &self.workspaces
    }
}

/// Without its guests there is no sandbox; anything else is the host's.
fn no_engine(e: crate::Error) -> SandboxError {
    match e.status {
        Status::NotFound | Status::Corrupt | Status::Unsupported => SandboxError::BackendUnavailable(e.message),
        _ => SandboxError::EnforcerUnavailable { enforcer: "cay".to_string(), message: e.message },
    }
}

/// So that `?` works where calls of [`Client::workspaces`] stand beside those of the traits.
impl From<WorkspaceError> for SandboxError {
    fn from(e: WorkspaceError) -> SandboxError {
        let message = e.cause.message;
        match e.code {
            WorkspaceCode::ProvisionFailed => {
                SandboxError::ProvisionFailed { resource: e.subject, reason: message, suggestion: e.suggestion }
            }
            WorkspaceCode::PathTraversal => SandboxError::PathTraversal { path: e.subject },
            WorkspaceCode::SessionNotFound => SandboxError::SessionNotFound { handle: e.subject },
            WorkspaceCode::SnapshotNotFound => SandboxError::SnapshotNotFound { id: e.subject },
            WorkspaceCode::ExecutionFailed => SandboxError::ExecutionFailed(message),
            WorkspaceCode::Timeout => SandboxError::Timeout { timeout: Duration::from_millis(e.limit) },
            WorkspaceCode::MemoryExceeded => {
                SandboxError::MemoryExceeded { limit_mb: u32::try_from(e.limit).unwrap_or(u32::MAX) }
            }
            WorkspaceCode::InvalidRequest => SandboxError::InvalidRequest(message),
            WorkspaceCode::BackendUnavailable => SandboxError::BackendUnavailable(message),
            WorkspaceCode::EnforcerFailed => SandboxError::EnforcerFailed { enforcer: "cay".to_string(), message },
            WorkspaceCode::EnforcerUnavailable => SandboxError::EnforcerUnavailable { enforcer: "cay".to_string(), message },
            WorkspaceCode::PolicyViolation => SandboxError::PolicyViolation(message),
        }
    }
}

/// Calls of the library wait, so they go to the threads that tokio keeps for that.
async fn blocking<T: Send + 'static>(
    call: impl FnOnce() -> Result<T, WorkspaceError> + Send + 'static,
) -> Result<T, SandboxError> {
    match tokio::task::spawn_blocking(call).await {
        Ok(done) => done.map_err(SandboxError::from),
        Err(e) => Err(SandboxError::ExecutionFailed(format!("the call was lost: {e}"))),
    }
}

fn manifest_of(manifest: &Manifest) -> Result<workspace::Manifest, SandboxError> {
    let mut entries = Vec::with_capacity(manifest.entries.len());
    for entry in &manifest.entries {
        entries.push(match entry {
            ManifestEntry::File { path, content } => {
                validate_relative_path(path)?;
                workspace::Entry::File { path: path.clone(), content: content.clone(), mode: 0 }
            }
            ManifestEntry::Directory { path } => {
                validate_relative_path(path)?;
                workspace::Entry::Directory { path: path.clone() }
            }
            ManifestEntry::GitRepo { url, branch, path } => {
                validate_relative_path(path)?;
                let (url, branch, path) = (url.clone(), branch.clone(), path.clone());
                workspace::Entry::GitRepo { url, branch, path, depth: 0, commit: None }
            }
        });
    }
    Ok(workspace::Manifest { entries, ..Default::default() })
}

#[async_trait]
impl SandboxClient for Client {
    async fn provision(&self, manifest: &Manifest) -> Result<SessionHandle, SandboxError> {
        let (workspaces, manifest) = (self.workspaces.clone(), manifest_of(manifest)?);
        blocking(move || workspaces.provision(&manifest)).await.map(SessionHandle)
    }

    async fn start(&self, handle: &SessionHandle) -> Result<Box<dyn SandboxSession>, SandboxError> {
        let (workspaces, handle) = (self.workspaces.clone(), handle.0.clone());
        let session = blocking(move || workspaces.start(&handle)).await?;
        Ok(Box::new(Session { session }))
    }

    async fn stop(&self, handle: &SessionHandle) -> Result<(), SandboxError> {
        let (workspaces, handle) = (self.workspaces.clone(), handle.0.clone());
        blocking(move || workspaces.stop(&handle)).await
    }

    async fn snapshot(&self, handle: &SessionHandle) -> Result<SnapshotId, SandboxError> {
        let (workspaces, handle) = (self.workspaces.clone(), handle.0.clone());
        blocking(move || workspaces.snapshot(&handle)).await.map(SnapshotId)
    }

    async fn resume(&self, snapshot_id: &SnapshotId) -> Result<SessionHandle, SandboxError> {
        let (workspaces, id) = (self.workspaces.clone(), snapshot_id.0.clone());
        blocking(move || workspaces.resume(&id)).await.map(SessionHandle)
    }
}

/// A `SandboxSession` of a [`Client`].
#[derive(Clone)]
pub struct Session {
    session: workspace::WorkspaceSession,
}

/// Output is text in this trait. The mark says that there was more.
fn marked(bytes: &[u8], cut: bool) -> String {
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    if cut {
        text.push_str("\n[output cut at 1 MiB]");
    }
    text
}

fn exec_output(e: Exec) -> ExecOutput {
    let (stdout, stderr) = (marked(&e.stdout, e.stdout_cut), marked(&e.stderr, e.stderr_cut));
    ExecOutput::new(stdout, stderr, e.exit_code, e.duration, e.timed_out)
}

#[async_trait]
impl SandboxSession for Session {
    async fn exec_command(&self, command: &str, working_dir: Option<&str>) -> Result<ExecOutput, SandboxError> {
        if let Some(dir) = working_dir {
            validate_relative_path(dir)?;
        }
        let (session, command) = (self.session.clone(), command.to_string());
        let options = ExecOptions { working_dir: working_dir.map(str::to_string), ..Default::default() };
        blocking(move || session.exec_with(&command, &options)).await.map(exec_output)
    }

    async fn read_file(&self, path: &str) -> Result<Vec<u8>, SandboxError> {
        validate_relative_path(path)?;
        let (session, path) = (self.session.clone(), path.to_string());
        blocking(move || session.read_file(&path)).await
    }

    async fn write_file(&self, path: &str, content: &[u8]) -> Result<(), SandboxError> {
        validate_relative_path(path)?;
        let (session, path, content) = (self.session.clone(), path.to_string(), content.to_vec());
        blocking(move || session.write_file(&path, &content)).await
    }

    async fn list_dir(&self, path: &str) -> Result<Vec<DirEntry>, SandboxError> {
        validate_relative_path(path)?;
        let (session, path) = (self.session.clone(), path.to_string());
        let list = blocking(move || session.list_dir(&path)).await?;
        let entry_type = |kind| if kind == Kind::Directory { EntryType::Directory } else { EntryType::File };
        Ok(list.into_iter().map(|(name, stat)| DirEntry::new(name, entry_type(stat.kind))).collect())
    }

    async fn apply_patch(&self, patch: &str) -> Result<(), SandboxError> {
        let (session, patch) = (self.session.clone(), patch.to_string());
        blocking(move || session.apply_patch(&patch, &PatchOptions::default())).await
    }
}
