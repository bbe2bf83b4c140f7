//! The allocator of the program: the one of the system. In a worker process an allocation that fails ends the process
//! with an exit code of its own, so that the parent knows the reason. The same holds for allocations of the C++ library of the engine. In all other processes it is as without this.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::service::OUT_OF_MEMORY;

static IS_WORKER: AtomicBool = AtomicBool::new(false);

/// To be declared as the `global_allocator` of the binary.
pub struct ProgramAllocator;

/// From now on an allocation that fails ends this process with [`OUT_OF_MEMORY`].
pub(super) fn exit_without_memory() {
    IS_WORKER.store(true, Ordering::Relaxed);
    assetfs_engine::library_memory::on_out_of_memory(end_process);
}

fn checked(memory: *mut u8) -> *mut u8 {
    if memory.is_null() && IS_WORKER.load(Ordering::Relaxed) {
        end_process();
    }
    memory
}

#[expect(unsafe_code, reason = "nothing else ends a process without allocating")]
fn end_process() -> ! {
    // SAFETY: `_exit` runs no code of this process, so it may be called in any state and from any thread.
    unsafe { libc::_exit(OUT_OF_MEMORY) }
}

#[expect(unsafe_code, reason = "the trait is unsafe")]
// SAFETY: every call is passed on to the system's allocator as it came, and its result returned as it is.
unsafe impl GlobalAlloc for ProgramAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of this function, which is the same.
        checked(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        checked(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: as above.
        checked(unsafe { System.realloc(memory, layout, new_size) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}
