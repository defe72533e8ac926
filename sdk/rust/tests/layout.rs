//! The structures of `cay::sys` are those of the headers: a C program says where each field stands.

use cay::sys;
use std::collections::HashMap;
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

macro_rules! table {
    ($($name:ident { $($field:ident),* })*) => {
        fn fields() -> Vec<(&'static str, usize)> {
            vec![$($((concat!(stringify!($name), ".", stringify!($field)), offset_of!(sys::$name, $field)),)*)*]
        }
    };
}

table! {
    cay_error { status, os_errno, message }
    cay_slice { data, len }
    cay_buf { data, len }
    cay_engine_options { size, guest_dir, cache_dir, log, log_ctx }
    cay_limits { size, memory, disk, output, fuel, wall_ms, processes, files, open_files, code, cpu_ms,
        background_ms }
    cay_sandbox_options { size, limits, env, seed, trace, trace_ctx, packages }
    cay_run_options { size, argv, command, module, cwd, env, input, input_open, no_capture, wall_ms, fuel, output, output_ctx,
        tty, tty_rows, tty_cols }
    cay_result { end, code, out, err, out_cut, err_cut, detail, wall_ns, fuel }
    cay_stat { kind, mode, len, mtime_ns }
    cay_session_options { size, language, image, cwd, env }
    cay_eval_options { size, code, name, input, no_json, no_capture, wall_ms }
    cay_value { outcome, end, exit_code, undone, out, err, out_cut, err_cut, repr, json, error_type, error_text, traceback }
    cay_ws_error { code, limit, cause, subject, suggestion }
    cay_ws_options { size, engine, store, network, git_files, git_program, git_timeout_ms, git_progress, git_progress_ctx,
        limits, git_credentials, git_ca_file }
    cay_ws_entry { size, kind, path, content, mode, url, branch, commit, depth }
    cay_ws_manifest { size, entries, entry_count, env, limits, network }
    cay_ws_exec_options { size, command, working_dir, timeout_ms, env, input, input_open, output, output_ctx }
    cay_ws_output { out, err, out_cut, err_cut, exit_code, duration_ns, timed_out }
    cay_ws_patch_options { size, strict, fuzz, strip }
    cay_ws_session_info { handle, state, created_ns }
    cay_ws_snapshot_info { id, handle, created_ns, files, len }
    cay_ws_retention { size, keep, max_age_ms }
}

fn offsets_of_c() -> HashMap<String, usize> {
    let folder = std::env::temp_dir().join(format!("cay-layout-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let lines: String = fields()
        .iter()
        .map(|(name, _)| {
            let (of, field) = name.split_once('.').unwrap();
            format!("printf(\"{name} %zu\\n\", offsetof({of}, {field}));\n")
        })
        .collect();
    let source = format!(
        "#include <cay/session.h>\n#include <cay/workspace.h>\n#include <stdio.h>\nint main(void) {{\n{lines}return 0;\n}}\n"
    );
    std::fs::write(folder.join("layout.c"), source).unwrap();
    let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
    let built = Command::new("gcc")
        .arg("-I").arg(headers).arg("-o").arg(folder.join("layout")).arg(folder.join("layout.c"))
        .status().unwrap();
    assert!(built.success());
    let output = Command::new(folder.join("layout")).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    String::from_utf8(output.stdout).unwrap().lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(name, offset)| (name.to_string(), offset.parse().unwrap()))
        .collect()
}

#[test]
fn every_field_stands_where_the_headers_have_it() {
    let theirs = offsets_of_c();
    for (name, offset) in fields() {
        assert_eq!(theirs.get(name), Some(&offset), "{name}");
    }
}
