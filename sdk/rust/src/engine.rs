use crate::error::{Error, c_text, check};
use crate::sys;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::Arc;

pub(crate) struct EngineInner(pub(crate) *mut sys::cay_engine);

// Any function of the library may be called from any thread.
unsafe impl Send for EngineInner {}
unsafe impl Sync for EngineInner {}

impl Drop for EngineInner {
    fn drop(&mut self) {
        unsafe { sys::cay_engine_free(self.0) }
    }
}

/// Compiled code that sandboxes share. Cloning gives one more handle of the same engine.
#[derive(Clone)]
pub struct Engine(pub(crate) Arc<EngineInner>);

impl Engine {
    /// With the guests beside the library, or of `$CAY_GUESTS`.
    pub fn new() -> Result<Engine, Error> {
        Engine::open(None, None)
    }

    /// With the guests of a folder, and a folder that keeps the compiled code of other modules.
    pub fn open(guests: Option<&Path>, cache: Option<&Path>) -> Result<Engine, Error> {
        let folder = |p: Option<&Path>| p.map(|p| c_text(&p.to_string_lossy())).transpose();
        let (guests, cache) = (folder(guests)?, folder(cache)?);
        let options = sys::cay_engine_options {
            size: size_of::<sys::cay_engine_options>(),
            guest_dir: guests.as_ref().map_or(std::ptr::null(), |t| t.as_ptr()),
            cache_dir: cache.as_ref().map_or(std::ptr::null(), |t| t.as_ptr()),
            log: None,
            log_ctx: null_mut(),
        };
        let mut engine = null_mut();
        check(|e| unsafe { sys::cay_engine_new(&options, &mut engine, e) })?;
        Ok(Engine(Arc::new(EngineInner(engine))))
    }
}
