use crate::engine::Engine;
use crate::error::{Env, Error, error_of, new_error, owned_text, text};
use crate::sandbox::{SandboxBuilder, Stat, collect, milliseconds};
use crate::sys;
use std::ffi::{CString, c_char, c_int, c_void};
use std::fmt;
use std::path::PathBuf;
use std::ptr::{null, null_mut};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a failure means for the caller; the names are those of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceCode {
    ProvisionFailed,
    PathTraversal,
    SessionNotFound,
    SnapshotNotFound,
    ExecutionFailed,
    Timeout,
    MemoryExceeded,
    InvalidRequest,
    BackendUnavailable,
    EnforcerFailed,
    EnforcerUnavailable,
    PolicyViolation,
}

impl WorkspaceCode {
    fn of(number: c_int) -> WorkspaceCode {
        use WorkspaceCode::*;
        const ALL: [WorkspaceCode; 12] = [
            ProvisionFailed, PathTraversal, SessionNotFound, SnapshotNotFound, ExecutionFailed, Timeout, MemoryExceeded,
            InvalidRequest, BackendUnavailable, EnforcerFailed, EnforcerUnavailable, PolicyViolation,
        ];
        ALL.get((number as usize).wrapping_sub(1)).copied().unwrap_or(EnforcerFailed)
    }
}

#[derive(Debug, Clone)]
pub struct WorkspaceError {
    pub code: WorkspaceCode,
    /// The entry, path, handle or id that it is about; may be empty.
    pub subject: String,
    pub suggestion: String,
    /// Milliseconds of a `Timeout`, mebibytes of a `MemoryExceeded`.
    pub limit: u64,
    pub cause: Error,
}

impl fmt::Display for WorkspaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.code, self.cause)
    }
}

impl std::error::Error for WorkspaceError {}

type Result<T> = std::result::Result<T, WorkspaceError>;

fn check(call: impl FnOnce(*mut sys::cay_ws_error) -> c_int) -> Result<()> {
    let mut e = sys::cay_ws_error { code: 0, limit: 0, cause: new_error(), subject: [0; 256], suggestion: [0; 120] };
    if call(&mut e) == 0 {
        return Ok(());
    }
    Err(WorkspaceError {
        code: WorkspaceCode::of(e.code),
        subject: text(&e.subject),
        suggestion: text(&e.suggestion),
        limit: e.limit,
        cause: error_of(&e.cause),
    })
}

/// A text for C. A NUL byte would end it early: in a path that is a traversal, elsewhere a wrong request.
fn c_text(text: &str, code: WorkspaceCode) -> Result<CString> {
    CString::new(text).map_err(|_| WorkspaceError {
        code,
        subject: text.to_string(),
        suggestion: String::new(),
        limit: 0,
        cause: Error { status: crate::Status::Invalid, errno: 0, message: format!("{text:?}: a NUL byte") },
    })
}

fn c_path(path: &str) -> Result<CString> {
    c_text(path, WorkspaceCode::PathTraversal)
}

fn c_word(word: &str) -> Result<CString> {
    c_text(word, WorkspaceCode::InvalidRequest)
}

fn c_env(pairs: &[(String, String)]) -> Result<Env> {
    Env::new(pairs).map_err(|cause| WorkspaceError {
        code: WorkspaceCode::InvalidRequest,
        subject: String::new(),
        suggestion: String::new(),
        limit: 0,
        cause,
    })
}

fn id_text(id: &[c_char; 64]) -> String {
    text(id)
}

/// One thing that a workspace begins with.
#[derive(Debug, Clone)]
pub enum Entry {
    File { path: String, content: Vec<u8>, mode: u32 },
    Directory { path: String },
    GitRepo { url: String, branch: Option<String>, path: String, depth: u32, commit: Option<String> },
}

/// What a workspace begins as. Entries are done in order; paths are relative to the workspace.
#[derive(Debug, Clone, Default)]
pub struct Manifest {
    pub entries: Vec<Entry>,
    pub env: Vec<(String, String)>,
    pub limits: Option<SandboxBuilder>,
    /// JSON: `{"rules":[…]}`
    pub network: String,
}

struct WorkspacesInner {
    raw: *mut sys::cay_ws,
    _engine: Engine, // outlives it
    /// Processes that a command leaves behind may write as long as the client is there.
    sinks: Mutex<Vec<Box<Sink>>>,
}

/// A stream of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

type OutputFn = dyn FnMut(Stream, &[u8]) + Send;

/// Takes output until its command has ended.
struct Sink(Mutex<Option<Box<OutputFn>>>);

impl Sink {
    fn hear(&self, stream: Stream, bytes: &[u8]) {
        let Ok(mut to) = self.0.lock() else { return };
        if let Some(function) = to.as_mut() {
            function(stream, bytes);
        }
    }

    fn close(&self) {
        match self.0.lock() {
            Ok(mut to) => *to = None,
            Err(poisoned) => *poisoned.into_inner() = None,
        }
    }
}

/// A panic of the function ends its hearing, and does not unwind into the library.
unsafe extern "C" fn sink_output(ctx: *mut c_void, fd: c_int, bytes: sys::cay_slice) {
    let (sink, bytes) = (unsafe { &*ctx.cast::<Sink>() }, unsafe { sys::copy(bytes) });
    let stream = if fd == 1 { Stream::Stdout } else { Stream::Stderr };
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| sink.hear(stream, &bytes)));
}

unsafe impl Send for WorkspacesInner {}
unsafe impl Sync for WorkspacesInner {}

impl Drop for WorkspacesInner {
    fn drop(&mut self) {
        unsafe { sys::cay_ws_close(self.raw) }
    }
}

/// A client: workspaces, and the store that keeps their snapshots.
#[derive(Clone)]
pub struct Workspaces(Arc<WorkspacesInner>);

#[derive(Debug, Clone, Default)]
pub struct WorkspacesBuilder {
    /// The folder of snapshots and parked sessions; none: they are not kept.
    pub store: Option<PathBuf>,
    /// JSON: `{"rules":[…]}`, where git may connect to; empty: what a manifest says, else nowhere.
    pub network: String,
    /// file:// URLs may lead below this folder.
    pub git_files: Option<PathBuf>,
    /// Lines `https://USER:PASSWORD@HOST/PATH`, for git servers that want credentials.
    pub git_credentials: String,
    /// Certificate authorities in PEM for https:// URLs, in place of the system's.
    pub git_ca_file: Option<PathBuf>,
    /// For the clone of a repository; 5 minutes without.
    pub git_timeout: Option<Duration>,
    pub limits: Option<SandboxBuilder>,
}

impl WorkspacesBuilder {
    pub fn open(&self, engine: &Engine) -> Result<Workspaces> {
        let folder = |p: &Option<PathBuf>| p.as_ref().map(|p| c_word(&p.to_string_lossy())).transpose();
        let (store, git_files, git_ca_file) = (folder(&self.store)?, folder(&self.git_files)?, folder(&self.git_ca_file)?);
        let limits = self.limits.as_ref().map(|l| l.limits());
        let mut options: sys::cay_ws_options = unsafe { std::mem::zeroed() };
        options.size = size_of::<sys::cay_ws_options>();
        options.engine = engine.0.0;
        options.store = store.as_ref().map_or(null(), |t| t.as_ptr());
        options.git_files = git_files.as_ref().map_or(null(), |t| t.as_ptr());
        options.git_ca_file = git_ca_file.as_ref().map_or(null(), |t| t.as_ptr());
        options.git_timeout_ms = milliseconds(self.git_timeout);
        options.limits = limits.as_ref().map_or(null(), |l| l);
        if !self.network.is_empty() {
            options.network = sys::slice(self.network.as_bytes());
        }
        if !self.git_credentials.is_empty() {
            options.git_credentials = sys::slice(self.git_credentials.as_bytes());
        }
        let mut raw = null_mut();
        check(|e| unsafe { sys::cay_ws_open(&options, &mut raw, e) })?;
        Ok(Workspaces(Arc::new(WorkspacesInner { raw, _engine: engine.clone(), sinks: Mutex::default() })))
    }
}

/// The texts that the entries of C point into.
struct EntryTexts {
    path: CString,
    url: Option<CString>,
    branch: Option<CString>,
    commit: Option<CString>,
}

impl EntryTexts {
    fn new(entry: &Entry) -> Result<EntryTexts> {
        let optional = |t: &Option<String>| t.as_deref().map(c_word).transpose();
        Ok(match entry {
            Entry::File { path, .. } | Entry::Directory { path } => {
                EntryTexts { path: c_path(path)?, url: None, branch: None, commit: None }
            }
            Entry::GitRepo { url, branch, path, commit, .. } => EntryTexts {
                path: c_path(path)?,
                url: Some(c_word(url)?),
                branch: optional(branch)?,
                commit: optional(commit)?,
            },
        })
    }

    fn entry(&self, from: &Entry) -> sys::cay_ws_entry {
        let pointer = |t: &Option<CString>| t.as_ref().map_or(null(), |t| t.as_ptr());
        let (kind, content, mode, depth): (c_int, &[u8], u32, u32) = match from {
            Entry::File { content, mode, .. } => (0, content, *mode, 0),
            Entry::Directory { .. } => (1, &[], 0, 0),
            Entry::GitRepo { depth, .. } => (2, &[], 0, *depth),
        };
        sys::cay_ws_entry {
            size: size_of::<sys::cay_ws_entry>(),
            kind,
            path: self.path.as_ptr(),
            content: sys::slice(content),
            mode,
            url: pointer(&self.url),
            branch: pointer(&self.branch),
            commit: pointer(&self.commit),
            depth,
        }
    }
}

#[derive(Debug, Clone)]
pub struct SessionInfo {
    pub handle: String,
    /// "provisioned", "running" or "parked"
    pub state: &'static str,
    pub created_ns: i64,
}

#[derive(Debug, Clone)]
pub struct SnapshotInfo {
    pub id: String,
    pub handle: String,
    pub created_ns: i64,
    pub files: u64,
    pub len: u64,
}

unsafe extern "C" fn collect_session(ctx: *mut c_void, info: *const sys::cay_ws_session_info) -> bool {
    let (list, info) = unsafe { (&mut *ctx.cast::<Vec<SessionInfo>>(), &*info) };
    let state = ["provisioned", "running", "parked"].get(info.state as usize).copied().unwrap_or("stopped");
    list.push(SessionInfo { handle: unsafe { owned_text(info.handle) }, state, created_ns: info.created_ns });
    true
}

unsafe extern "C" fn collect_snapshot(ctx: *mut c_void, info: *const sys::cay_ws_snapshot_info) -> bool {
    let (list, info) = unsafe { (&mut *ctx.cast::<Vec<SnapshotInfo>>(), &*info) };
    list.push(SnapshotInfo {
        id: unsafe { owned_text(info.id) },
        handle: unsafe { owned_text(info.handle) },
        created_ns: info.created_ns,
        files: info.files,
        len: info.len,
    });
    true
}

unsafe extern "C" fn collect_line(ctx: *mut c_void, line: *const c_char) {
    unsafe { &mut *ctx.cast::<Vec<String>>() }.push(unsafe { owned_text(line) });
}

impl Workspaces {
    pub fn open(engine: &Engine) -> Result<Workspaces> {
        WorkspacesBuilder::default().open(engine)
    }

    /// All or nothing. The handle names the session from now on.
    pub fn provision(&self, manifest: &Manifest) -> Result<String> {
        let texts = manifest.entries.iter().map(EntryTexts::new).collect::<Result<Vec<_>>>()?;
        let entries: Vec<_> = texts.iter().zip(&manifest.entries).map(|(t, e)| t.entry(e)).collect();
        let env = c_env(&manifest.env)?;
        let limits = manifest.limits.as_ref().map(|l| l.limits());
        let network = sys::slice(manifest.network.as_bytes());
        let raw = sys::cay_ws_manifest {
            size: size_of::<sys::cay_ws_manifest>(),
            entries: entries.as_ptr(),
            entry_count: entries.len(),
            env: env.as_ptr(),
            limits: limits.as_ref().map_or(null(), |l| l),
            network,
        };
        let mut handle = [0; 64];
        check(|e| unsafe { sys::cay_ws_provision(self.0.raw, &raw, handle.as_mut_ptr(), e) })?;
        Ok(id_text(&handle))
    }

    /// The same from a manifest in JSON.
    pub fn provision_json(&self, json: &str) -> Result<String> {
        let (mut document, mut handle) = (null_mut(), [0; 64]);
        check(|e| unsafe { sys::cay_ws_manifest_parse(sys::slice(json.as_bytes()), &mut document, e) })?;
        let done = check(|e| unsafe {
            sys::cay_ws_provision(self.0.raw, sys::cay_ws_manifest_get(document), handle.as_mut_ptr(), e)
        });
        unsafe { sys::cay_ws_manifest_free(document) };
        done.map(|()| id_text(&handle))
    }

    pub fn start(&self, handle: &str) -> Result<WorkspaceSession> {
        let (handle, mut raw) = (c_word(handle)?, null_mut());
        check(|e| unsafe { sys::cay_ws_start(self.0.raw, handle.as_ptr(), &mut raw, e) })?;
        Ok(WorkspaceSession(Arc::new(SessionInner { raw, _client: self.clone() })))
    }

    pub fn stop(&self, handle: &str) -> Result<()> {
        let handle = c_word(handle)?;
        check(|e| unsafe { sys::cay_ws_stop(self.0.raw, handle.as_ptr(), e) })
    }

    /// Durable when it returns.
    pub fn snapshot(&self, handle: &str) -> Result<String> {
        let (handle, mut id) = (c_word(handle)?, [0; 64]);
        check(|e| unsafe { sys::cay_ws_snapshot(self.0.raw, handle.as_ptr(), id.as_mut_ptr(), e) })?;
        Ok(id_text(&id))
    }

    pub fn resume(&self, id: &str) -> Result<String> {
        let (id, mut handle) = (c_word(id)?, [0; 64]);
        check(|e| unsafe { sys::cay_ws_resume(self.0.raw, id.as_ptr(), handle.as_mut_ptr(), e) })?;
        Ok(id_text(&handle))
    }

    pub fn park(&self, handle: &str) -> Result<()> {
        let handle = c_word(handle)?;
        check(|e| unsafe { sys::cay_ws_park(self.0.raw, handle.as_ptr(), e) })
    }

    pub fn sessions(&self) -> Result<Vec<SessionInfo>> {
        let mut list: Vec<SessionInfo> = Vec::new();
        let ctx = (&raw mut list).cast();
        check(|e| unsafe { sys::cay_ws_sessions(self.0.raw, collect_session, ctx, e) })?;
        Ok(list)
    }

    pub fn snapshots(&self) -> Result<Vec<SnapshotInfo>> {
        let mut list: Vec<SnapshotInfo> = Vec::new();
        let ctx = (&raw mut list).cast();
        check(|e| unsafe { sys::cay_ws_snapshots(self.0.raw, collect_snapshot, ctx, e) })?;
        Ok(list)
    }

    pub fn delete_snapshot(&self, id: &str) -> Result<()> {
        let id = c_word(id)?;
        check(|e| unsafe { sys::cay_ws_snapshot_delete(self.0.raw, id.as_ptr(), e) })
    }

    /// The newest `keep` stay, and snapshots younger than `max_age`. Returns how many were removed.
    pub fn prune(&self, keep: u32, max_age: Option<Duration>) -> Result<usize> {
        let rules = sys::cay_ws_retention {
            size: size_of::<sys::cay_ws_retention>(),
            keep,
            max_age_ms: max_age.map_or(0, |t| t.as_millis() as u64),
        };
        let mut removed = 0;
        check(|e| unsafe { sys::cay_ws_prune(self.0.raw, &rules, &mut removed, e) })?;
        Ok(removed)
    }

    /// The problems of the store.
    pub fn fsck(&self, repair: bool) -> Result<Vec<String>> {
        let (mut lines, mut count): (Vec<String>, usize) = (Vec::new(), 0);
        let ctx = (&raw mut lines).cast();
        check(|e| unsafe { sys::cay_ws_fsck(self.0.raw, repair, Some(collect_line), ctx, &mut count, e) })?;
        Ok(lines)
    }
}

struct SessionInner {
    raw: *mut sys::cay_ws_session,
    _client: Workspaces, // outlives it
}

unsafe impl Send for SessionInner {}
unsafe impl Sync for SessionInner {}

impl Drop for SessionInner {
    fn drop(&mut self) {
        unsafe { sys::cay_ws_session_free(self.raw) }
    }
}

/// A session that was started. Dropping it does not stop it.
#[derive(Clone)]
pub struct WorkspaceSession(Arc<SessionInner>);

#[derive(Debug, Clone, Default)]
pub struct ExecOptions {
    pub working_dir: Option<String>,
    pub timeout: Option<Duration>,
    pub env: Vec<(String, String)>,
    pub input: Vec<u8>,
}

/// The end of a command. Output ends at 1 MiB.
#[derive(Debug, Clone)]
pub struct Exec {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub stdout_cut: bool,
    pub stderr_cut: bool,
    pub exit_code: i32,
    pub duration: Duration,
    pub timed_out: bool,
}

unsafe fn take_output(raw: *mut sys::cay_ws_output) -> Exec {
    let o = unsafe { &*raw };
    let exec = Exec {
        stdout: unsafe { sys::copy(o.out) },
        stderr: unsafe { sys::copy(o.err) },
        stdout_cut: o.out_cut,
        stderr_cut: o.err_cut,
        exit_code: o.exit_code,
        duration: Duration::from_nanos(o.duration_ns),
        timed_out: o.timed_out,
    };
    unsafe { sys::cay_ws_output_free(raw) };
    exec
}

#[derive(Debug, Clone, Default)]
pub struct PatchOptions {
    pub strict: bool,
    /// Lines of context that may be passed over at each end; 0: 2, `u32::MAX`: none.
    pub fuzz: u32,
    /// Folders taken off names; none: as the headers suggest.
    pub strip: Option<u32>,
}

impl WorkspaceSession {
    fn with_options<T>(
        &self, command: &str, o: &ExecOptions, open: bool, sink: *const Sink,
        call: impl FnOnce(*mut sys::cay_ws_session, &sys::cay_ws_exec_options) -> Result<T>,
    ) -> Result<T> {
        let (command, env) = (c_word(command)?, c_env(&o.env)?);
        let folder = o.working_dir.as_deref().map(c_path).transpose()?;
        let options = sys::cay_ws_exec_options {
            size: size_of::<sys::cay_ws_exec_options>(),
            command: command.as_ptr(),
            working_dir: folder.as_ref().map_or(null(), |t| t.as_ptr()),
            timeout_ms: milliseconds(o.timeout),
            env: env.as_ptr(),
            input: sys::slice(&o.input),
            input_open: open,
            output: if sink.is_null() { None } else { Some(sink_output) },
            output_ctx: sink.cast_mut().cast(),
        };
        call(self.0.raw, &options)
    }

    pub fn exec(&self, command: &str) -> Result<Exec> {
        self.exec_with(command, &ExecOptions::default())
    }

    pub fn exec_with(&self, command: &str, o: &ExecOptions) -> Result<Exec> {
        self.exec_to(command, o, null())
    }

    fn exec_to(&self, command: &str, o: &ExecOptions, sink: *const Sink) -> Result<Exec> {
        self.with_options(command, o, false, sink, |s, options| {
            let mut raw = null_mut();
            check(|e| unsafe { sys::cay_ws_exec(s, options, &mut raw, e) })?;
            Ok(unsafe { take_output(raw) })
        })
    }

    /// As `exec_with`, and `on_output` gets the output as it appears, on a thread of the library. A slow one makes the
    /// command wait. What the command leaves running is not heard any more.
    pub fn exec_streaming(
        &self, command: &str, o: &ExecOptions, on_output: impl FnMut(Stream, &[u8]) + Send,
    ) -> Result<Exec> {
        let boxed: Box<dyn FnMut(Stream, &[u8]) + Send + '_> = Box::new(on_output);
        // It is dropped before this function returns, so it need not be static.
        let function: Box<OutputFn> = unsafe { std::mem::transmute(boxed) };
        let sink = Box::new(Sink(Mutex::new(Some(function))));
        let at: *const Sink = &*sink;
        self.0._client.0.sinks.lock().unwrap_or_else(|p| p.into_inner()).push(sink);
        let done = self.exec_to(command, o, at);
        unsafe { &*at }.close();
        done
    }

    /// In the background, with its standard input open.
    pub fn spawn(&self, command: &str, o: &ExecOptions) -> Result<Process> {
        self.with_options(command, o, true, null(), |s, options| {
            let mut raw = null_mut();
            check(|e| unsafe { sys::cay_ws_spawn(s, options, &mut raw, e) })?;
            Ok(Process { raw, _session: self.clone() })
        })
    }

    pub fn read_file(&self, path: &str) -> Result<Vec<u8>> {
        let (path, mut bytes) = (c_path(path)?, sys::cay_buf { data: null_mut(), len: 0 });
        check(|e| unsafe { sys::cay_ws_read_file(self.0.raw, path.as_ptr(), &mut bytes, e) })?;
        Ok(unsafe { sys::take(bytes) })
    }

    pub fn write_file(&self, path: &str, content: &[u8]) -> Result<()> {
        let path = c_path(path)?;
        check(|e| unsafe { sys::cay_ws_write_file(self.0.raw, path.as_ptr(), sys::slice(content), 0, e) })
    }

    /// In the order of their names.
    pub fn list_dir(&self, path: &str) -> Result<Vec<(String, Stat)>> {
        let path = c_path(path)?;
        let mut list: Vec<(String, Stat)> = Vec::new();
        let ctx = (&raw mut list).cast();
        check(|e| unsafe { sys::cay_ws_list_dir(self.0.raw, path.as_ptr(), collect, ctx, e) })?;
        Ok(list)
    }

    /// All of the patch, or nothing.
    pub fn apply_patch(&self, patch: &str, o: &PatchOptions) -> Result<()> {
        let options = sys::cay_ws_patch_options {
            size: size_of::<sys::cay_ws_patch_options>(),
            strict: o.strict,
            fuzz: o.fuzz,
            strip: o.strip.map_or(0, |n| n as i32 + 1),
        };
        check(|e| unsafe { sys::cay_ws_apply_patch(self.0.raw, sys::slice(patch.as_bytes()), &options, e) })
    }
}

/// A command in the background. Dropping it does not end it.
pub struct Process {
    raw: *mut sys::cay_ws_process,
    _session: WorkspaceSession,
}

unsafe impl Send for Process {}
unsafe impl Sync for Process {}

impl Drop for Process {
    fn drop(&mut self) {
        unsafe { sys::cay_ws_process_free(self.raw) }
    }
}

impl Process {
    pub fn pid(&self) -> i32 {
        unsafe { sys::cay_ws_process_pid(self.raw) }
    }

    /// `Timeout`: it still runs. None: waits for ever.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<Exec> {
        let ms = timeout.map_or(-1, |t| t.as_millis() as i64);
        let mut raw = null_mut();
        check(|e| unsafe { sys::cay_ws_process_wait(self.raw, ms, &mut raw, e) })?;
        Ok(unsafe { take_output(raw) })
    }

    pub fn write(&self, bytes: &[u8]) -> Result<()> {
        check(|e| unsafe { sys::cay_ws_process_write(self.raw, sys::slice(bytes), e) })
    }

    pub fn close_input(&self) {
        unsafe { sys::cay_ws_process_close_input(self.raw) }
    }

    pub fn kill(&self) {
        unsafe { sys::cay_ws_process_kill(self.raw) }
    }
}
