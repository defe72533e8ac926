use crate::error::{Error, c_text, check};
use crate::sandbox::{Sandbox, milliseconds};
use crate::sys;
use std::ffi::CStr;
use std::path::Path;
use std::ptr::{null, null_mut};
use std::time::Duration;

/// An interpreter that keeps its variables between evaluations.
pub struct Session {
    raw: *mut sys::cay_session,
    _sandbox: Sandbox, // outlives it
}

unsafe impl Send for Session {}
unsafe impl Sync for Session {}

impl Drop for Session {
    fn drop(&mut self) {
        unsafe { sys::cay_session_free(self.raw) }
    }
}

/// How an evaluation ended: `cay_outcome` of `cay/session.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Value,
    Error,
    Exit,
    Stopped,
}

#[derive(Debug, Clone)]
pub struct Evaluation {
    pub outcome: Outcome,
    pub stdout: String,
    pub stderr: String,
    /// The value as the language writes it, and as JSON where it can be; empty: none.
    pub repr: String,
    pub json: String,
    pub error_type: String,
    pub error_text: String,
    pub traceback: String,
    /// The session is as it was before this evaluation.
    pub undone: bool,
}

impl Session {
    /// "python", "javascript" or "typescript".
    pub fn new(sandbox: &Sandbox, language: &str) -> Result<Session, Error> {
        Session::begin(sandbox, &c_text(language)?, null())
    }

    /// Begins as an image of `cay image build`, a file of this machine: its imports are done, and its variables set.
    pub fn from_image(sandbox: &Sandbox, language: &str, path: impl AsRef<Path>) -> Result<Session, Error> {
        let language = c_text(language)?;
        let path = c_text(&path.as_ref().to_string_lossy())?;
        let engine = sandbox.0.engine.0.0;
        let mut image = null_mut();
        check(|e| unsafe { sys::cay_image_load(engine, language.as_ptr(), path.as_ptr(), &mut image, e) })?;
        let session = Session::begin(sandbox, &language, image);
        unsafe { sys::cay_image_free(image) }; // the session has its own
        session
    }

    fn begin(sandbox: &Sandbox, language: &CStr, image: *const sys::cay_image) -> Result<Session, Error> {
        let mut options: sys::cay_session_options = unsafe { std::mem::zeroed() };
        options.size = size_of::<sys::cay_session_options>();
        options.language = language.as_ptr();
        options.image = image;
        let mut raw = null_mut();
        check(|e| unsafe { sys::cay_session_new(sandbox.0.raw, &options, &mut raw, e) })?;
        Ok(Session { raw, _sandbox: sandbox.clone() })
    }

    pub fn eval(&self, code: &str, timeout: Option<Duration>) -> Result<Evaluation, Error> {
        let mut options: sys::cay_eval_options = unsafe { std::mem::zeroed() };
        options.size = size_of::<sys::cay_eval_options>();
        options.code = sys::slice(code.as_bytes());
        options.wall_ms = milliseconds(timeout);
        let mut raw = null_mut();
        check(|e| unsafe { sys::cay_session_eval(self.raw, &options, &mut raw, e) })?;
        let v = unsafe { &*raw };
        let text = |s| String::from_utf8_lossy(&unsafe { sys::copy(s) }).into_owned();
        let result = Evaluation {
            outcome: [Outcome::Value, Outcome::Error, Outcome::Exit].get(v.outcome as usize).copied().unwrap_or(Outcome::Stopped),
            stdout: text(v.out),
            stderr: text(v.err),
            repr: text(v.repr),
            json: text(v.json),
            error_type: text(v.error_type),
            error_text: text(v.error_text),
            traceback: text(v.traceback),
            undone: v.undone,
        };
        unsafe { sys::cay_value_free(raw) };
        Ok(result)
    }
}
