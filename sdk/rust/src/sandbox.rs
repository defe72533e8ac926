use crate::engine::Engine;
use crate::error::{Env, Error, c_text, check, owned_text};
use crate::sys;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::time::Duration;

pub(crate) struct SandboxInner {
    pub(crate) raw: *mut sys::cay_sandbox,
    pub(crate) engine: Engine, // outlives it
}

unsafe impl Send for SandboxInner {}
unsafe impl Sync for SandboxInner {}

impl Drop for SandboxInner {
    fn drop(&mut self) {
        unsafe { sys::cay_sandbox_free(self.raw) }
    }
}

/// A Linux of its own: files, processes and limits. Nothing of the host is reachable.
#[derive(Clone)]
pub struct Sandbox(pub(crate) Arc<SandboxInner>);

/// Limits and environment of a sandbox; zero and nothing are the defaults of the library.
#[derive(Debug, Clone, Default)]
pub struct SandboxBuilder {
    pub memory: u64,
    pub disk: u64,
    pub output: u64,
    pub processes: u32,
    pub timeout: Option<Duration>,
    /// Of the processor, all processes together, for the life of the sandbox; one hour without. Then everything ends.
    pub cpu: Option<Duration>,
    /// For what a run leaves running.
    pub background: Option<Duration>,
    pub env: Vec<(String, String)>,
}

pub(crate) fn milliseconds(time: Option<Duration>) -> u32 {
    time.map_or(0, |t| u32::try_from(t.as_millis().max(1)).unwrap_or(u32::MAX))
}

impl SandboxBuilder {
    pub(crate) fn limits(&self) -> sys::cay_limits {
        sys::cay_limits {
            size: size_of::<sys::cay_limits>(),
            memory: self.memory,
            disk: self.disk,
            output: self.output,
            fuel: 0,
            wall_ms: milliseconds(self.timeout),
            processes: self.processes,
            files: 0,
            open_files: 0,
            code: 0,
            cpu_ms: milliseconds(self.cpu).into(),
            background_ms: milliseconds(self.background),
        }
    }

    pub fn build(&self, engine: &Engine) -> Result<Sandbox, Error> {
        let (limits, env) = (self.limits(), Env::new(&self.env)?);
        let options = sys::cay_sandbox_options {
            size: size_of::<sys::cay_sandbox_options>(),
            limits: &limits,
            env: env.as_ptr(),
            seed: 0,
            trace: null(),
            trace_ctx: null_mut(),
            packages: null(),
        };
        let mut raw = null_mut();
        check(|e| unsafe { sys::cay_sandbox_new(engine.0.0, &options, &mut raw, e) })?;
        Ok(Sandbox(Arc::new(SandboxInner { raw, engine: engine.clone() })))
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Exit,
    Signal,
    Trap,
    Time,
    Fuel,
    Cancelled,
}

impl End {
    fn of(number: c_int) -> End {
        [End::Exit, End::Signal, End::Trap, End::Time, End::Fuel].get(number as usize).copied().unwrap_or(End::Cancelled)
    }
}

#[derive(Debug, Clone)]
pub struct RunResult {
    pub end: End,
    /// As a shell shows it: the exit code, 128 + signal, 124 for time and fuel.
    pub exit_code: i32,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub stdout_cut: bool,
    pub stderr_cut: bool,
    pub duration: Duration,
}

#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    pub cwd: Option<String>,
    pub env: Vec<(String, String)>,
    pub input: Vec<u8>,
    pub timeout: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File,
    Directory,
    Link,
    Other,
}

impl Kind {
    pub(crate) fn of(number: c_int) -> Kind {
        [Kind::File, Kind::Directory, Kind::Link].get(number as usize).copied().unwrap_or(Kind::Other)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    pub kind: Kind,
    pub mode: u32,
    pub len: u64,
    pub mtime_ns: i64,
}

impl Stat {
    pub(crate) fn of(s: &sys::cay_stat) -> Stat {
        Stat { kind: Kind::of(s.kind), mode: s.mode, len: s.len, mtime_ns: s.mtime_ns }
    }
}

/// Collects what a list function reports; unwinding must not cross C.
pub(crate) unsafe extern "C" fn collect(ctx: *mut c_void, name: *const c_char, stat: *const sys::cay_stat) -> bool {
    let list = unsafe { &mut *ctx.cast::<Vec<(String, Stat)>>() };
    list.push((unsafe { owned_text(name) }, Stat::of(unsafe { &*stat })));
    true
}

impl Sandbox {
    pub fn new(engine: &Engine) -> Result<Sandbox, Error> {
        SandboxBuilder::default().build(engine)
    }

    /// Runs a line for bash and waits for its end.
    pub fn run(&self, command: &str) -> Result<RunResult, Error> {
        self.run_with(command, &RunOptions::default())
    }

    pub fn run_with(&self, command: &str, o: &RunOptions) -> Result<RunResult, Error> {
        let (command, env) = (c_text(command)?, Env::new(&o.env)?);
        let cwd = o.cwd.as_deref().map(c_text).transpose()?;
        let mut options: sys::cay_run_options = unsafe { std::mem::zeroed() };
        options.size = size_of::<sys::cay_run_options>();
        options.command = command.as_ptr();
        options.cwd = cwd.as_ref().map_or(null(), |t| t.as_ptr());
        options.env = env.as_ptr();
        options.input = sys::slice(&o.input);
        options.wall_ms = milliseconds(o.timeout);
        let mut raw = null_mut();
        check(|e| unsafe { sys::cay_run(self.0.raw, &options, &mut raw, e) })?;
        let r = unsafe { &*raw };
        let result = RunResult {
            end: End::of(r.end),
            exit_code: unsafe { sys::cay_result_exit_code(raw) },
            stdout: unsafe { sys::copy(r.out) },
            stderr: unsafe { sys::copy(r.err) },
            stdout_cut: r.out_cut,
            stderr_cut: r.err_cut,
            duration: Duration::from_nanos(r.wall_ns),
        };
        unsafe { sys::cay_result_free(raw) };
        Ok(result)
    }

    /// Ends every process. From any thread.
    pub fn interrupt(&self) {
        unsafe { sys::cay_sandbox_interrupt(self.0.raw) }
    }

    pub fn set_env(&self, name: &str, value: Option<&str>) -> Result<(), Error> {
        let (name, value) = (c_text(name)?, value.map(c_text).transpose()?);
        let value = value.as_ref().map_or(null(), |t| t.as_ptr());
        check(|e| unsafe { sys::cay_sandbox_setenv(self.0.raw, name.as_ptr(), value, e) })
    }

    pub fn read_file(&self, path: &str) -> Result<Vec<u8>, Error> {
        let (path, mut bytes) = (c_text(path)?, sys::cay_buf { data: null_mut(), len: 0 });
        check(|e| unsafe { sys::cay_file_read(self.0.raw, path.as_ptr(), &mut bytes, e) })?;
        Ok(unsafe { sys::take(bytes) })
    }

    /// Replaces the file and makes its parents. Mode 0 is 0644.
    pub fn write_file(&self, path: &str, bytes: &[u8], mode: u32) -> Result<(), Error> {
        let path = c_text(path)?;
        check(|e| unsafe { sys::cay_file_write(self.0.raw, path.as_ptr(), sys::slice(bytes), mode, e) })
    }

    pub fn stat(&self, path: &str) -> Result<Stat, Error> {
        let (path, mut stat) = (c_text(path)?, sys::cay_stat { kind: 0, mode: 0, len: 0, mtime_ns: 0 });
        check(|e| unsafe { sys::cay_file_lstat(self.0.raw, path.as_ptr(), &mut stat, e) })?;
        Ok(Stat::of(&stat))
    }

    pub fn list(&self, path: &str) -> Result<Vec<(String, Stat)>, Error> {
        let path = c_text(path)?;
        let mut list: Vec<(String, Stat)> = Vec::new();
        let ctx = (&raw mut list).cast();
        check(|e| unsafe { sys::cay_file_list(self.0.raw, path.as_ptr(), collect, ctx, e) })?;
        Ok(list)
    }

    pub fn make_dir(&self, path: &str) -> Result<(), Error> {
        let path = c_text(path)?;
        check(|e| unsafe { sys::cay_file_mkdir(self.0.raw, path.as_ptr(), true, e) })
    }

    pub fn remove(&self, path: &str, recursive: bool) -> Result<(), Error> {
        let path = c_text(path)?;
        check(|e| unsafe { sys::cay_file_remove(self.0.raw, path.as_ptr(), recursive, e) })
    }
}
