//! The same work through the traits of adk-sandbox, by the client of that crate that runs on the host, or by cay's. One line a number: milliseconds.
//!
//!   clients adk|cay WHAT COUNT FOLDER [URL]
//!
//! WHAT: provision (1,000 files of 1 KB), exec (`true`), snapshot (of 100 MB of which 1 MB has changed), resume (of 100 MB), clone (of URL).
use adk_sandbox::SandboxError;
use adk_sandbox::workspace::{LocalUnixClient, Manifest, ManifestEntry, SandboxClient};
use cay::{Client, Engine, SandboxBuilder, WorkspacesBuilder};
use std::path::{Path, PathBuf};
use std::time::Instant;

fn client(name: &str, folder: &Path) -> Box<dyn SandboxClient> {
    if name == "adk" {
        return Box::new(LocalUnixClient::new(Some(folder.join("workspaces")), folder.join("snapshots")));
    }
    let limits = SandboxBuilder { disk: 1 << 30, ..Default::default() };
    let builder = WorkspacesBuilder {
        store: Some(folder.join("store")),
        git_files: Some(folder.to_path_buf()),
        limits: Some(limits),
        ..Default::default()
    };
    Box::new(Client::new(builder.open(&Engine::new().unwrap()).unwrap()))
}

fn file(path: String, content: Vec<u8>) -> ManifestEntry {
    ManifestEntry::File { path, content }
}

fn files() -> Manifest {
    Manifest { entries: (0..1000).map(|i| file(format!("d{}/f{i}", i / 100), vec![b'x'; 1000])).collect() }
}

/// Bytes that no compressor makes smaller.
fn noise(seed: u64) -> Vec<u8> {
    let mut state = seed;
    (0..1_000_000)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 56) as u8
        })
        .collect()
}

fn large() -> Manifest {
    Manifest { entries: (0..100).map(|i| file(format!("f{i}"), noise(i + 1))).collect() }
}

fn tell(start: Instant) {
    println!("{:.3}", start.elapsed().as_secs_f64() * 1e3);
}

async fn provisions(client: &dyn SandboxClient, manifest: &Manifest, count: u64) -> Result<(), SandboxError> {
    for _ in 0..count {
        let start = Instant::now();
        let handle = client.provision(manifest).await?;
        tell(start);
        client.stop(&handle).await?;
    }
    Ok(())
}

async fn commands(client: &dyn SandboxClient, count: u64) -> Result<(), SandboxError> {
    let handle = client.provision(&Manifest { entries: vec![] }).await?;
    let session = client.start(&handle).await?;
    for _ in 0..count {
        let start = Instant::now();
        session.exec_command("true", None).await?;
        tell(start);
    }
    client.stop(&handle).await
}

async fn snapshots(client: &dyn SandboxClient, count: u64, resume: bool) -> Result<(), SandboxError> {
    let handle = client.provision(&large()).await?;
    let session = client.start(&handle).await?;
    client.snapshot(&handle).await?;
    for i in 0..count {
        session.write_file("f0", &noise(1000 + i)).await?;
        let start = Instant::now();
        let id = client.snapshot(&handle).await?;
        if !resume {
            tell(start);
            continue;
        }
        let start = Instant::now();
        let again = client.resume(&id).await?;
        tell(start);
        client.stop(&again).await?;
    }
    client.stop(&handle).await
}

#[tokio::main]
async fn main() -> Result<(), SandboxError> {
    let words: Vec<String> = std::env::args().collect();
    let [_, name, what, count, folder, url @ ..] = words.as_slice() else { panic!("clients adk|cay WHAT COUNT FOLDER [URL]") };
    let (folder, count) = (PathBuf::from(folder), count.parse().expect("a count"));
    let client = client(name, &folder);
    match what.as_str() {
        "provision" => provisions(client.as_ref(), &files(), count).await,
        "exec" => commands(client.as_ref(), count).await,
        "snapshot" => snapshots(client.as_ref(), count, false).await,
        "resume" => snapshots(client.as_ref(), count, true).await,
        _ => {
            let entry = ManifestEntry::GitRepo { url: url[0].clone(), branch: None, path: "repo".to_string() };
            provisions(client.as_ref(), &Manifest { entries: vec![entry] }, count).await
        }
    }
}
