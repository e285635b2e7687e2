//! Counts what the calling thread does, so that a test can tell linear work from quadratic work
//! without a clock.
//!
//! Two things are counted: comparisons of texts of equal length (a search through a list makes one
//! per entry), and allocations with their bytes (a list that is moved or copied over and over asks
//! for more than it ends up with). The counters replace the allocator and `memcmp` of the test
//! binary that links this crate.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::{c_int, c_void};

thread_local! {
    static COMPARISONS: Cell<u64> = const { Cell::new(0) };
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<u64> = const { Cell::new(0) };
}

/// The steps and allocations of a piece of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steps {
    /// Comparisons of texts that have the same length.
    pub comparisons: u64,
    /// Number of allocations.
    pub allocations: u64,
    /// Bytes allocated, each time anew where a list grows.
    pub bytes: u64,
}

/// Counts what `work` does on this thread.
pub fn count<T>(work: impl FnOnce() -> T) -> (T, Steps) {
    let before = now();
    let result = work();
    let after = now();
    let steps = Steps {
        comparisons: after.comparisons - before.comparisons,
        allocations: after.allocations - before.allocations,
        bytes: after.bytes - before.bytes,
    };
    (result, steps)
}

fn now() -> Steps {
    Steps {
        comparisons: COMPARISONS.get(),
        allocations: ALLOCATIONS.get(),
        bytes: BYTES.get(),
    }
}

fn allocated(bytes: usize) {
    // While a thread ends its counters are gone, and nothing is counted any more.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
    let _ = BYTES.try_with(|count| count.set(count.get() + bytes as u64));
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call is handed to the system's allocator as it came; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        allocated(layout.size());
        // SAFETY: the caller keeps to the same rules as for the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: `place` came from the system's allocator, with this layout.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        allocated(size);
        // SAFETY: `place` came from the system's allocator, with this layout.
        unsafe { System.realloc(place, layout, size) }
    }
}

fn compared() {
    let _ = COMPARISONS.try_with(|count| count.set(count.get() + 1));
}

/// The C library's `memcmp`, counted.
///
/// # Safety
/// Both places hold `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcmp(a: *const c_void, b: *const c_void, length: usize) -> c_int {
    compared();
    let (a, b) = (a.cast::<u8>(), b.cast::<u8>());
    for at in 0..length {
        // SAFETY: `at` is below the length that the caller promised. The volatile reads keep the
        // compiler from making a call of `memcmp` of this loop.
        let (a, b) = unsafe { (a.add(at).read_volatile(), b.add(at).read_volatile()) };
        if a != b {
            return c_int::from(a) - c_int::from(b);
        }
    }
    0
}

/// The C library's `bcmp`, counted.
///
/// # Safety
/// As for [`memcmp`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcmp(a: *const c_void, b: *const c_void, length: usize) -> c_int {
    // SAFETY: the caller promised the same.
    unsafe { memcmp(a, b, length) }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    fn names(count: usize) -> Vec<String> {
        (0..count)
            .map(|number| format!("name_{number:08}"))
            .collect()
    }

    #[test]
    fn a_search_through_a_list_is_counted_per_entry() {
        let list = names(1000);
        let wanted = black_box("name_00000999");
        let (found, steps) = count(|| list.iter().position(|name| name == wanted));
        assert_eq!(found, Some(999));
        assert!((1000..1010).contains(&steps.comparisons), "{steps:?}");
        assert_eq!(steps.allocations, 0);
    }

    #[test]
    fn allocations_are_counted_with_their_bytes() {
        let (list, steps) = count(|| Vec::<u8>::with_capacity(4096));
        drop(list);
        assert_eq!((steps.allocations, steps.bytes), (1, 4096));
    }
}
