//! Every failure of the contract, brought about and under its name: that of this crate, and that of adk-sandbox. One test in a program of
//! its own, since what the process may have is taken away.

use cay::{
    Engine, Entry, ExecOptions, Manifest, SandboxBuilder, WorkspaceCode, WorkspaceError, WorkspaceSession, Workspaces,
    WorkspacesBuilder,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

#[repr(C)]
#[derive(Clone, Copy)]
struct Limit {
    soft: u64,
    hard: u64,
}

unsafe extern "C" {
    fn getrlimit(which: i32, limit: *mut Limit) -> i32;
    fn setrlimit(which: i32, limit: *const Limit) -> i32;
}

const ADDRESS_SPACE: i32 = 9;

/// Calls with little more address space than the process has already, as after `ulimit -v`.
fn without_address_space<T>(call: impl FnOnce() -> T) -> T {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let size = status.lines().find_map(|l| l.strip_prefix("VmSize:")).unwrap();
    let used = size.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10;
    let mut before = Limit { soft: 0, hard: 0 };
    let little = |before: &Limit| Limit { soft: used + (64 << 20), hard: before.hard };
    assert_eq!(unsafe { getrlimit(ADDRESS_SPACE, &mut before) }, 0);
    assert_eq!(unsafe { setrlimit(ADDRESS_SPACE, &little(&before)) }, 0);
    let result = call();
    assert_eq!(unsafe { setrlimit(ADDRESS_SPACE, &before) }, 0);
    result
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Guests whose shell was cut, its module and its compiled code, as by a disk that was full.
fn damaged_guests(at: &Path) -> PathBuf {
    let (from, to) = (PathBuf::from(std::env::var("CAY_GUESTS").unwrap()), at.join("guests"));
    std::fs::create_dir_all(&to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(|e| e.unwrap()) {
        let (path, place) = (entry.path().canonicalize().unwrap(), to.join(entry.file_name()));
        match entry.file_name().to_str() {
            Some("bash.wasm" | "bash.cwasm") => std::fs::write(place, &std::fs::read(path).unwrap()[..100_000]).unwrap(),
            _ => std::os::unix::fs::symlink(path, place).unwrap(),
        }
    }
    to
}

fn started(workspaces: &Workspaces) -> WorkspaceSession {
    workspaces.start(&workspaces.provision(&Manifest::default()).unwrap()).unwrap()
}

fn failure<T>(result: Result<T, WorkspaceError>) -> WorkspaceError {
    result.map(|_| ()).unwrap_err()
}

fn failures(folder: &Path) -> Vec<(WorkspaceCode, WorkspaceError)> {
    let engine = Engine::new().unwrap();
    let limits = |memory| Some(SandboxBuilder { disk: 1 << 20, memory, ..Default::default() });
    let store = Some(folder.join("store"));
    let workspaces = WorkspacesBuilder { store, limits: limits(0), ..Default::default() }.open(&engine).unwrap();
    let small = WorkspacesBuilder { limits: limits(1_000_000), ..Default::default() }.open(&engine).unwrap();
    let broken = Workspaces::open(&Engine::open(Some(&damaged_guests(folder)), None).unwrap()).unwrap();
    let nowhere = WorkspacesBuilder { store: Some("/proc/version/x".into()), ..Default::default() };
    let session = started(&workspaces);
    let git = Entry::GitRepo { url: "ssh://x".into(), branch: None, path: "r".into(), depth: 0, commit: None };
    let provision = |entry| failure(workspaces.provision(&Manifest { entries: vec![entry], ..Default::default() }));
    let process = session.spawn("sleep 1000", &ExecOptions::default()).unwrap();
    let found = vec![
        (WorkspaceCode::ProvisionFailed, provision(git)),
        (WorkspaceCode::PathTraversal, provision(Entry::Directory { path: "../x".into() })),
        (WorkspaceCode::SessionNotFound, failure(workspaces.stop("session-0"))),
        (WorkspaceCode::SnapshotNotFound, failure(workspaces.resume("snap-0"))),
        (WorkspaceCode::ExecutionFailed, failure(session.read_file("missing"))),
        (WorkspaceCode::Timeout, failure(process.wait(Some(Duration::from_millis(5))))),
        (WorkspaceCode::MemoryExceeded, failure(started(&small).exec("true"))),
        (WorkspaceCode::InvalidRequest, failure(workspaces.provision_json("{\"entries\": 1}"))),
        (WorkspaceCode::BackendUnavailable, failure(nowhere.open(&engine))),
        (WorkspaceCode::EnforcerFailed, failure(started(&broken).exec("true"))),
        (WorkspaceCode::PolicyViolation, failure(session.write_file("big", &vec![0; 2 << 20]))),
    ];
    process.kill();
    let fresh = started(&Workspaces::open(&Engine::new().unwrap()).unwrap());
    let unavailable = without_address_space(|| failure(fresh.exec("true")));
    found.into_iter().chain([(WorkspaceCode::EnforcerUnavailable, unavailable)]).collect()
}

/// The name, as a client of the traits sees it, if the fields beside it are right.
#[cfg(feature = "adk")]
fn name_for_adk(failure: WorkspaceError) -> &'static str {
    use adk_sandbox::SandboxError::*;
    match adk_sandbox::SandboxError::from(failure) {
        ProvisionFailed { resource, .. } if resource == "r" => "ProvisionFailed",
        PathTraversal { path } if path == "../x" => "PathTraversal",
        SessionNotFound { handle } if handle == "session-0" => "SessionNotFound",
        SnapshotNotFound { id } if id == "snap-0" => "SnapshotNotFound",
        ExecutionFailed(why) if why.contains("missing") => "ExecutionFailed",
        Timeout { timeout } if timeout == Duration::from_millis(5) => "Timeout",
        MemoryExceeded { limit_mb: 1 } => "MemoryExceeded",
        InvalidRequest(why) if !why.is_empty() => "InvalidRequest",
        BackendUnavailable(why) if !why.is_empty() => "BackendUnavailable",
        EnforcerFailed { enforcer, message } if enforcer == "cay" && !message.is_empty() => "EnforcerFailed",
        EnforcerUnavailable { enforcer, message } if enforcer == "cay" && !message.is_empty() => "EnforcerUnavailable",
        PolicyViolation(why) if !why.is_empty() => "PolicyViolation",
        _ => "another",
    }
}

#[test]
fn each_failure_of_the_contract_comes_by_its_name() {
    let folder = Folder(std::env::temp_dir().join(format!("cay-rust-{}-failures", std::process::id())));
    let found = failures(&folder.0);
    assert_eq!(found.len(), 12);
    for (code, failure) in found {
        assert_eq!(failure.code, code, "{failure}");
        #[cfg(feature = "adk")]
        assert_eq!(name_for_adk(failure.clone()), format!("{code:?}"), "{failure}");
    }
}
