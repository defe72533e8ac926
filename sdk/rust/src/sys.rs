//! The C interface as it is. `tests/layout.rs` compares every structure with the headers.
#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_int, c_void};

macro_rules! opaque {
    ($($name:ident),*) => { $(#[repr(C)] pub struct $name { _private: [u8; 0] })* };
}
opaque!(cay_engine, cay_sandbox, cay_session, cay_image, cay_ws, cay_ws_session, cay_ws_process, cay_ws_document);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cay_error {
    pub status: c_int,
    pub os_errno: i32,
    pub message: [c_char; 248],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cay_slice {
    pub data: *const c_void,
    pub len: usize,
}

#[repr(C)]
pub struct cay_buf {
    pub data: *mut c_void,
    pub len: usize,
}

#[repr(C)]
pub struct cay_engine_options {
    pub size: usize,
    pub guest_dir: *const c_char,
    pub cache_dir: *const c_char,
    pub log: Option<unsafe extern "C" fn(*mut c_void, c_int, *const c_char, *const c_char)>,
    pub log_ctx: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cay_limits {
    pub size: usize,
    pub memory: u64,
    pub disk: u64,
    pub output: u64,
    pub fuel: u64,
    pub wall_ms: u32,
    pub processes: u32,
    pub files: u32,
    pub open_files: u32,
    pub code: u64,
    pub cpu_ms: u64,
    pub background_ms: u32,
}

#[repr(C)]
pub struct cay_sandbox_options {
    pub size: usize,
    pub limits: *const cay_limits,
    pub env: *const *const c_char,
    pub seed: u64,
    pub trace: *const c_void,
    pub trace_ctx: *mut c_void,
    pub packages: *const c_void,
}

pub type cay_output_fn = unsafe extern "C" fn(*mut c_void, c_int, cay_slice);

#[repr(C)]
pub struct cay_run_options {
    pub size: usize,
    pub argv: *const *const c_char,
    pub command: *const c_char,
    pub module: cay_slice,
    pub cwd: *const c_char,
    pub env: *const *const c_char,
    pub input: cay_slice,
    pub input_open: bool,
    pub no_capture: bool,
    pub wall_ms: u32,
    pub fuel: u64,
    pub output: Option<cay_output_fn>,
    pub output_ctx: *mut c_void,
    pub tty: bool,
    pub tty_rows: u16,
    pub tty_cols: u16,
}

#[repr(C)]
pub struct cay_result {
    pub end: c_int,
    pub code: i32,
    pub out: cay_slice,
    pub err: cay_slice,
    pub out_cut: bool,
    pub err_cut: bool,
    pub detail: cay_slice,
    pub wall_ns: u64,
    pub fuel: u64,
    // `usage` follows; only the library makes results
}

#[repr(C)]
pub struct cay_stat {
    pub kind: c_int,
    pub mode: u32,
    pub len: u64,
    pub mtime_ns: i64,
}
pub type cay_list_fn = unsafe extern "C" fn(*mut c_void, *const c_char, *const cay_stat) -> bool;

#[repr(C)]
pub struct cay_session_options {
    pub size: usize,
    pub language: *const c_char,
    pub image: *const cay_image,
    pub cwd: *const c_char,
    pub env: *const *const c_char,
}

#[repr(C)]
pub struct cay_eval_options {
    pub size: usize,
    pub code: cay_slice,
    pub name: *const c_char,
    pub input: cay_slice,
    pub no_json: bool,
    pub no_capture: bool,
    pub wall_ms: u32,
}

#[repr(C)]
pub struct cay_value {
    pub outcome: c_int,
    pub end: c_int,
    pub exit_code: i32,
    pub undone: bool,
    pub out: cay_slice,
    pub err: cay_slice,
    pub out_cut: bool,
    pub err_cut: bool,
    pub repr: cay_slice,
    pub json: cay_slice,
    pub error_type: cay_slice,
    pub error_text: cay_slice,
    pub traceback: cay_slice,
    // more follows; only the library makes values
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct cay_ws_error {
    pub code: c_int,
    pub limit: u64,
    pub cause: cay_error,
    pub subject: [c_char; 256],
    pub suggestion: [c_char; 120],
}

#[repr(C)]
pub struct cay_ws_options {
    pub size: usize,
    pub engine: *mut cay_engine,
    pub store: *const c_char,
    pub network: cay_slice,
    pub git_files: *const c_char,
    pub git_program: *const c_char,
    pub git_timeout_ms: u32,
    pub git_progress: Option<unsafe extern "C" fn(*mut c_void, *const c_char, u64, u64)>,
    pub git_progress_ctx: *mut c_void,
    pub limits: *const cay_limits,
    pub git_credentials: cay_slice,
    pub git_ca_file: *const c_char,
}

#[repr(C)]
pub struct cay_ws_entry {
    pub size: usize,
    pub kind: c_int,
    pub path: *const c_char,
    pub content: cay_slice,
    pub mode: u32,
    pub url: *const c_char,
    pub branch: *const c_char,
    pub commit: *const c_char,
    pub depth: u32,
}

#[repr(C)]
pub struct cay_ws_manifest {
    pub size: usize,
    pub entries: *const cay_ws_entry,
    pub entry_count: usize,
    pub env: *const *const c_char,
    pub limits: *const cay_limits,
    pub network: cay_slice,
}

#[repr(C)]
pub struct cay_ws_exec_options {
    pub size: usize,
    pub command: *const c_char,
    pub working_dir: *const c_char,
    pub timeout_ms: u32,
    pub env: *const *const c_char,
    pub input: cay_slice,
    pub input_open: bool,
    pub output: Option<cay_output_fn>,
    pub output_ctx: *mut c_void,
}

#[repr(C)]
pub struct cay_ws_output {
    pub out: cay_slice,
    pub err: cay_slice,
    pub out_cut: bool,
    pub err_cut: bool,
    pub exit_code: i32,
    pub duration_ns: u64,
    pub timed_out: bool,
}

#[repr(C)]
pub struct cay_ws_patch_options {
    pub size: usize,
    pub strict: bool,
    pub fuzz: u32,
    pub strip: i32,
}

#[repr(C)]
pub struct cay_ws_session_info {
    pub handle: *const c_char,
    pub state: c_int,
    pub created_ns: i64,
}
pub type cay_ws_session_fn = unsafe extern "C" fn(*mut c_void, *const cay_ws_session_info) -> bool;

#[repr(C)]
pub struct cay_ws_snapshot_info {
    pub id: *const c_char,
    pub handle: *const c_char,
    pub created_ns: i64,
    pub files: u64,
    pub len: u64,
}
pub type cay_ws_snapshot_fn = unsafe extern "C" fn(*mut c_void, *const cay_ws_snapshot_info) -> bool;

#[repr(C)]
pub struct cay_ws_retention {
    pub size: usize,
    pub keep: u32,
    pub max_age_ms: u64,
}
pub type cay_ws_fsck_fn = unsafe extern "C" fn(*mut c_void, *const c_char);

unsafe extern "C" {
    pub fn cay_version() -> *const c_char;
    pub fn cay_status_name(status: c_int) -> *const c_char;
    pub fn cay_buf_free(buf: *mut cay_buf);

    pub fn cay_engine_new(o: *const cay_engine_options, out: *mut *mut cay_engine, e: *mut cay_error) -> c_int;
    pub fn cay_engine_free(engine: *mut cay_engine);

    pub fn cay_sandbox_new(
        engine: *mut cay_engine, o: *const cay_sandbox_options, out: *mut *mut cay_sandbox, e: *mut cay_error,
    ) -> c_int;
    pub fn cay_sandbox_interrupt(b: *mut cay_sandbox);
    pub fn cay_sandbox_free(b: *mut cay_sandbox);
    pub fn cay_sandbox_setenv(b: *mut cay_sandbox, name: *const c_char, value: *const c_char, e: *mut cay_error) -> c_int;
    pub fn cay_run(b: *mut cay_sandbox, o: *const cay_run_options, out: *mut *mut cay_result, e: *mut cay_error) -> c_int;
    pub fn cay_result_exit_code(r: *const cay_result) -> c_int;
    pub fn cay_result_free(r: *mut cay_result);
    pub fn cay_file_read(b: *mut cay_sandbox, path: *const c_char, out: *mut cay_buf, e: *mut cay_error) -> c_int;
    pub fn cay_file_write(
        b: *mut cay_sandbox, path: *const c_char, bytes: cay_slice, mode: u32, e: *mut cay_error,
    ) -> c_int;
    pub fn cay_file_lstat(b: *mut cay_sandbox, path: *const c_char, out: *mut cay_stat, e: *mut cay_error) -> c_int;
    pub fn cay_file_list(
        b: *mut cay_sandbox, path: *const c_char, each: cay_list_fn, ctx: *mut c_void, e: *mut cay_error,
    ) -> c_int;
    pub fn cay_file_mkdir(b: *mut cay_sandbox, path: *const c_char, parents: bool, e: *mut cay_error) -> c_int;
    pub fn cay_file_remove(b: *mut cay_sandbox, path: *const c_char, recursive: bool, e: *mut cay_error) -> c_int;

    pub fn cay_session_new(
        b: *mut cay_sandbox, o: *const cay_session_options, out: *mut *mut cay_session, e: *mut cay_error,
    ) -> c_int;
    pub fn cay_session_free(s: *mut cay_session);
    pub fn cay_image_load(
        engine: *mut cay_engine, language: *const c_char, path: *const c_char, out: *mut *mut cay_image, e: *mut cay_error,
    ) -> c_int;
    pub fn cay_image_free(image: *mut cay_image);
    pub fn cay_session_eval(
        s: *mut cay_session, o: *const cay_eval_options, out: *mut *mut cay_value, e: *mut cay_error,
    ) -> c_int;
    pub fn cay_value_free(v: *mut cay_value);

    pub fn cay_ws_open(o: *const cay_ws_options, out: *mut *mut cay_ws, e: *mut cay_ws_error) -> c_int;
    pub fn cay_ws_close(ws: *mut cay_ws);
    pub fn cay_ws_manifest_parse(json: cay_slice, out: *mut *mut cay_ws_document, e: *mut cay_ws_error) -> c_int;
    pub fn cay_ws_manifest_get(d: *const cay_ws_document) -> *const cay_ws_manifest;
    pub fn cay_ws_manifest_free(d: *mut cay_ws_document);
    pub fn cay_ws_provision(
        ws: *mut cay_ws, m: *const cay_ws_manifest, handle: *mut c_char, e: *mut cay_ws_error,
    ) -> c_int;
    pub fn cay_ws_start(
        ws: *mut cay_ws, handle: *const c_char, out: *mut *mut cay_ws_session, e: *mut cay_ws_error,
    ) -> c_int;
    pub fn cay_ws_session_free(s: *mut cay_ws_session);
    pub fn cay_ws_stop(ws: *mut cay_ws, handle: *const c_char, e: *mut cay_ws_error) -> c_int;
    pub fn cay_ws_snapshot(ws: *mut cay_ws, handle: *const c_char, id: *mut c_char, e: *mut cay_ws_error) -> c_int;
    pub fn cay_ws_resume(ws: *mut cay_ws, id: *const c_char, handle: *mut c_char, e: *mut cay_ws_error) -> c_int;
    pub fn cay_ws_park(ws: *mut cay_ws, handle: *const c_char, e: *mut cay_ws_error) -> c_int;
    pub fn cay_ws_exec(
        s: *mut cay_ws_session, o: *const cay_ws_exec_options, out: *mut *mut cay_ws_output, e: *mut cay_ws_error,
    ) -> c_int;
    pub fn cay_ws_output_free(o: *mut cay_ws_output);
    pub fn cay_ws_spawn(
        s: *mut cay_ws_session, o: *const cay_ws_exec_options, out: *mut *mut cay_ws_process, e: *mut cay_ws_error,
    ) -> c_int;
    pub fn cay_ws_process_pid(p: *const cay_ws_process) -> i32;
    pub fn cay_ws_process_wait(
        p: *mut cay_ws_process, timeout_ms: i64, out: *mut *mut cay_ws_output, e: *mut cay_ws_error,
    ) -> c_int;
    pub fn cay_ws_process_write(p: *mut cay_ws_process, bytes: cay_slice, e: *mut cay_ws_error) -> c_int;
    pub fn cay_ws_process_close_input(p: *mut cay_ws_process);
    pub fn cay_ws_process_kill(p: *mut cay_ws_process);
    pub fn cay_ws_process_free(p: *mut cay_ws_process);
    pub fn cay_ws_read_file(
        s: *mut cay_ws_session, path: *const c_char, out: *mut cay_buf, e: *mut cay_ws_error,
    ) -> c_int;
    pub fn cay_ws_write_file(
        s: *mut cay_ws_session, path: *const c_char, content: cay_slice, mode: u32, e: *mut cay_ws_error,
    ) -> c_int;
    pub fn cay_ws_list_dir(
        s: *mut cay_ws_session, path: *const c_char, each: cay_list_fn, ctx: *mut c_void, e: *mut cay_ws_error,
    ) -> c_int;
    pub fn cay_ws_apply_patch(
        s: *mut cay_ws_session, patch: cay_slice, o: *const cay_ws_patch_options, e: *mut cay_ws_error,
    ) -> c_int;
    pub fn cay_ws_sessions(ws: *mut cay_ws, each: cay_ws_session_fn, ctx: *mut c_void, e: *mut cay_ws_error) -> c_int;
    pub fn cay_ws_snapshots(ws: *mut cay_ws, each: cay_ws_snapshot_fn, ctx: *mut c_void, e: *mut cay_ws_error) -> c_int;
    pub fn cay_ws_snapshot_delete(ws: *mut cay_ws, id: *const c_char, e: *mut cay_ws_error) -> c_int;
    pub fn cay_ws_prune(
        ws: *mut cay_ws, rules: *const cay_ws_retention, removed: *mut usize, e: *mut cay_ws_error,
    ) -> c_int;
    pub fn cay_ws_fsck(
        ws: *mut cay_ws, repair: bool, each: Option<cay_ws_fsck_fn>, ctx: *mut c_void, out: *mut usize,
        e: *mut cay_ws_error,
    ) -> c_int;
}

/// A slice of Rust as one of C. It borrows.
pub fn slice(bytes: &[u8]) -> cay_slice {
    cay_slice { data: bytes.as_ptr().cast(), len: bytes.len() }
}

/// A copy of bytes that C lends.
///
/// # Safety
/// `s` holds `len` readable bytes, or none.
pub unsafe fn copy(s: cay_slice) -> Vec<u8> {
    if s.data.is_null() || s.len == 0 {
        return Vec::new();
    }
    unsafe { std::slice::from_raw_parts(s.data.cast::<u8>(), s.len) }.to_vec()
}

/// A copy of bytes that C gives away.
///
/// # Safety
/// `b` was filled by a function of the library, and is not used again.
pub unsafe fn take(mut b: cay_buf) -> Vec<u8> {
    let bytes = unsafe { copy(cay_slice { data: b.data, len: b.len }) };
    unsafe { cay_buf_free(&mut b) };
    bytes
}
