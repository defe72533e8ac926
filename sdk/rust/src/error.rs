use crate::sys;
use std::ffi::{CStr, CString, c_char, c_int};
use std::fmt;

/// Why a call failed, in general.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    Invalid,
    NoMemory,
    NotFound,
    Exists,
    Denied,
    Limit,
    Timeout,
    Cancelled,
    Busy,
    Corrupt,
    Unsupported,
    Io,
    Internal,
}

impl Status {
    pub(crate) fn of(number: c_int) -> Status {
        use Status::*;
        const ALL: [Status; 13] = [
            Invalid, NoMemory, NotFound, Exists, Denied, Limit, Timeout, Cancelled, Busy, Corrupt, Unsupported, Io,
            Internal,
        ];
        ALL.get((number as usize).wrapping_sub(1)).copied().unwrap_or(Internal)
    }
}

/// A call that failed. A guest that fails is a result and no error.
#[derive(Debug, Clone)]
pub struct Error {
    pub status: Status,
    /// The host's errno for [`Status::Io`], the sandbox's for files, else 0.
    pub errno: i32,
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// Text of a fixed field of C.
pub(crate) fn text(field: &[c_char]) -> String {
    let bytes: Vec<u8> = field.iter().take_while(|c| **c != 0).map(|c| *c as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(crate) fn error_of(e: &sys::cay_error) -> Error {
    Error { status: Status::of(e.status), errno: e.os_errno, message: text(&e.message) }
}

pub(crate) fn new_error() -> sys::cay_error {
    sys::cay_error { status: 0, os_errno: 0, message: [0; 248] }
}

/// Calls a function that fills a `cay_error`.
pub(crate) fn check(call: impl FnOnce(*mut sys::cay_error) -> c_int) -> Result<(), Error> {
    let mut e = new_error();
    if call(&mut e) == 0 { Ok(()) } else { Err(error_of(&e)) }
}

/// A text for C. One with a NUL byte can never be a name.
pub(crate) fn c_text(text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error {
        status: Status::Invalid,
        errno: 0,
        message: format!("{text:?}: a NUL byte in a text"),
    })
}

/// "NAME=value" entries for C, which live as long as this.
pub(crate) struct Env {
    _texts: Vec<CString>,
    pointers: Vec<*const c_char>,
}

impl Env {
    pub(crate) fn new(pairs: &[(String, String)]) -> Result<Env, Error> {
        let texts = pairs.iter().map(|(n, v)| c_text(&format!("{n}={v}"))).collect::<Result<Vec<_>, _>>()?;
        let mut pointers: Vec<*const c_char> = texts.iter().map(|t| t.as_ptr()).collect();
        pointers.push(std::ptr::null());
        Ok(Env { _texts: texts, pointers })
    }

    /// NULL without entries.
    pub(crate) fn as_ptr(&self) -> *const *const c_char {
        if self.pointers.len() == 1 { std::ptr::null() } else { self.pointers.as_ptr() }
    }
}

/// # Safety
/// `at` is a text of C, or NULL.
pub(crate) unsafe fn owned_text(at: *const c_char) -> String {
    if at.is_null() { String::new() } else { unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned() }
}
