//! Memory of the C++ library `meshopt`. By default an allocation that fails there throws a C++ exception, which aborts
//! the process. A process that wants to report the reason sets its own handler here.

use std::ffi::c_void;
use std::sync::OnceLock;

static HANDLER: OnceLock<fn() -> !> = OnceLock::new();

/// From now on `handler` is called when an allocation of the library fails. Must be called before the first use of the
/// library; only the first call has an effect.
pub fn on_out_of_memory(handler: fn() -> !) {
    if HANDLER.set(handler).is_err() {
        return;
    }
    #[expect(unsafe_code, reason = "a call of the library")]
    // SAFETY: both functions have the signatures and the contract of `malloc` and `free`. No other function of the
    // library runs yet, as the documentation of this function requires of its callers.
    unsafe {
        meshopt::ffi::meshopt_setAllocator(Some(allocate), Some(deallocate));
    }
}

#[expect(unsafe_code, reason = "called by the library")]
unsafe extern "C" fn allocate(size: usize) -> *mut c_void {
    // SAFETY: `malloc` may be called with any size. For 0 it may return null, which is no failure.
    let memory = unsafe { libc::malloc(size.max(1)) };
    match HANDLER.get() {
        Some(handler) if memory.is_null() => handler(),
        _ => memory,
    }
}

#[expect(unsafe_code, reason = "called by the library")]
unsafe extern "C" fn deallocate(memory: *mut c_void) {
    // SAFETY: the library passes what `allocate` returned, once.
    unsafe { libc::free(memory) }
}
