//! The traits of adk-sandbox over cay: the documented examples of that crate, and the sentences of its contract.
#![cfg(feature = "adk")]

use adk_sandbox::SandboxError;
use adk_sandbox::workspace::{
    EntryType, Manifest, ManifestEntry, SandboxClient, SandboxSession, SessionHandle, SnapshotId,
};
use cay::Client;
use std::path::PathBuf;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("cay-rust-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn client(name: &str) -> (Client, Folder) {
    let folder = Folder::new(name);
    (Client::open(&folder.0).unwrap(), folder)
}

fn file(path: &str, content: &[u8]) -> ManifestEntry {
    ManifestEntry::File { path: path.to_string(), content: content.to_vec() }
}

/// The example of `SandboxClient`: any client will do.
async fn run_agent(client: &dyn SandboxClient, manifest: &Manifest) -> SessionHandle {
    let handle = client.provision(manifest).await.unwrap();
    let session = client.start(&handle).await.unwrap();
    use_session(session.as_ref()).await;
    client.stop(&handle).await.unwrap();
    handle
}

/// The example of `SandboxSession`.
async fn use_session(session: &dyn SandboxSession) {
    let output = session.exec_command("ls -la", None).await.unwrap();
    assert!(output.stdout.contains("src"), "{}", output.stdout);
    session.write_file("hello.txt", b"Hello, world!").await.unwrap();
    let content = session.read_file("hello.txt").await.unwrap();
    assert_eq!(content, b"Hello, world!");
}

#[tokio::test]
async fn documented_examples_run() {
    let (client, _folder) = client("examples");
    let manifest = Manifest {
        entries: vec![
            ManifestEntry::Directory { path: "src".to_string() },
            ManifestEntry::File { path: "src/main.rs".to_string(), content: b"fn main() {}".to_vec() },
        ],
    };
    let handle = run_agent(&client, &manifest).await;
    assert!(matches!(client.start(&handle).await, Err(SandboxError::SessionNotFound { .. })));
    let handle = client.provision(&Manifest { entries: vec![] }).await.unwrap();
    let session = client.start(&handle).await.unwrap();
    let output = session.exec_command("echo hello", None).await.unwrap();
    assert_eq!(output.stdout.trim(), "hello");
}

#[tokio::test]
async fn commands_have_both_streams_and_a_code() {
    let (client, _folder) = client("exec");
    let handle = client.provision(&Manifest::new(vec![file("sub/x", b"")])).await.unwrap();
    let session = client.start(&handle).await.unwrap();
    let output = session.exec_command("pwd; echo no >&2; exit 3", Some("sub")).await.unwrap();
    assert_eq!((output.stdout.as_str(), output.stderr.as_str(), output.exit_code), ("/workspace/sub\n", "no\n", 3));
    assert!(!output.timed_out);
    let large = session.exec_command("yes | head -c 2000000", None).await.unwrap();
    assert!(large.stdout.ends_with("[output cut at 1 MiB]") && large.stdout.len() < (1 << 20) + 100);
}

#[tokio::test]
async fn paths_that_lead_out_are_path_traversal() {
    let (client, _folder) = client("paths");
    for path in ["../x", "/etc/passwd", "a/../../x", ""] {
        let made = client.provision(&Manifest::new(vec![file("ok", b"1"), file(path, b"2")])).await;
        assert!(matches!(made, Err(SandboxError::PathTraversal { path: p }) if p == path));
    }
    let handle = client.provision(&Manifest::new(vec![])).await.unwrap();
    let session = client.start(&handle).await.unwrap();
    session.exec_command("ln -s /etc link", None).await.unwrap();
    for path in ["../x", "/etc/passwd", "link/passwd"] {
        assert!(matches!(session.read_file(path).await, Err(SandboxError::PathTraversal { .. })), "{path}");
        assert!(matches!(session.write_file(path, b"x").await, Err(SandboxError::PathTraversal { .. })), "{path}");
    }
    assert!(matches!(session.list_dir("..").await, Err(SandboxError::PathTraversal { .. })));
    assert!(matches!(session.exec_command("pwd", Some("..")).await, Err(SandboxError::PathTraversal { .. })));
}

#[tokio::test]
async fn files_directories_and_patches() {
    let (client, _folder) = client("files");
    let handle = client.provision(&Manifest::new(vec![file("a", b"1\n2\n"), file("dir/b", b"x")])).await.unwrap();
    let session = client.start(&handle).await.unwrap();
    let list = session.list_dir(".").await.unwrap();
    let names: Vec<_> = list.iter().map(|e| (e.name.as_str(), e.entry_type)).collect();
    assert_eq!(names, [("a", EntryType::File), ("dir", EntryType::Directory)]);
    session.apply_patch("--- a\n+++ a\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n").await.unwrap();
    assert_eq!(session.read_file("a").await.unwrap(), b"1\ntwo\n");
    let failed = session.apply_patch("--- a\n+++ a\n@@ -1 +1 @@\n-9\n+8\n").await;
    assert!(matches!(failed, Err(SandboxError::ExecutionFailed(_))));
    assert!(matches!(session.read_file("none").await, Err(SandboxError::ExecutionFailed(_))));
    assert!(matches!(session.list_dir("none").await, Err(SandboxError::ExecutionFailed(_))));
}

#[tokio::test]
async fn provisioning_fails_with_the_entry() {
    let (client, _folder) = client("provision");
    let made = client.provision(&Manifest::new(vec![file("a", b"x"), file("a/b", b"y")])).await;
    assert!(matches!(made, Err(SandboxError::ProvisionFailed { resource, .. }) if resource == "a/b"));
    let repo = ManifestEntry::GitRepo { url: "ssh://host/x".to_string(), branch: None, path: "r".to_string() };
    let made = client.provision(&Manifest::new(vec![repo])).await;
    assert!(matches!(made, Err(SandboxError::ProvisionFailed { resource, .. }) if resource == "r"));
}

#[tokio::test]
async fn unknown_handles_and_ids() {
    let (client, _folder) = client("unknown");
    let handle = SessionHandle::new("session-none");
    assert!(matches!(client.start(&handle).await, Err(SandboxError::SessionNotFound { .. })));
    assert!(matches!(client.stop(&handle).await, Err(SandboxError::SessionNotFound { .. })));
    assert!(matches!(client.snapshot(&handle).await, Err(SandboxError::SessionNotFound { .. })));
    let resumed = client.resume(&SnapshotId::new("snap-none")).await;
    assert!(matches!(resumed, Err(SandboxError::SnapshotNotFound { .. })));
}

#[tokio::test]
async fn a_snapshot_is_resumed_after_its_session_has_changed_and_stopped() {
    let (client, folder) = client("snapshot");
    let handle = client.provision(&Manifest::new(vec![file("a", b"before"), file("bin/x", b"1")])).await.unwrap();
    let session = client.start(&handle).await.unwrap();
    session.exec_command("chmod 700 bin/x; ln -s a l; touch -t 202001020304.05 a", None).await.unwrap();
    let id = client.snapshot(&handle).await.unwrap();
    session.exec_command("echo after > a; rm -r bin", None).await.unwrap();
    client.stop(&handle).await.unwrap();
    drop(client);
    let other = Client::open(&folder.0).unwrap();
    let again = other.resume(&id).await.unwrap();
    assert_ne!(again, handle);
    let session = other.start(&again).await.unwrap();
    let seen = session.exec_command("cat a; stat -c ' %a' bin/x; readlink l; date -u -r a +%FT%T", None).await.unwrap();
    assert_eq!(seen.stdout, "before 700\na\n2020-01-02T03:04:05\n");
}
