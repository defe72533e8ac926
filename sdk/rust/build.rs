//! Finds libcay: `CAY_LIB_DIR`, else the build tree that this crate lies in, else pkg-config.

use std::path::{Path, PathBuf};
use std::process::Command;

fn pkg_config_dir() -> Option<PathBuf> {
    let output = Command::new("pkg-config").args(["--variable=libdir", "cay"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| PathBuf::from(text.trim()))
}

fn main() {
    println!("cargo:rerun-if-env-changed=CAY_LIB_DIR");
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../build/src");
    let given = std::env::var_os("CAY_LIB_DIR").map(PathBuf::from);
    let dir = given.or_else(|| tree.join("libcay.so").exists().then_some(tree)).or_else(pkg_config_dir);
    println!("cargo:rustc-link-lib=dylib=cay");
    if let Some(dir) = dir.map(|d| d.canonicalize().unwrap_or(d)) {
        println!("cargo:rustc-link-search=native={}", dir.display());
        println!("cargo:rustc-link-arg=-Wl,-rpath,{}", dir.display());
    }
}
