//! Where the bytes and the reports of a scan go.

use std::io;

use crate::object::Object;
use crate::output::Output;
use crate::report::Report;

/// Takes what a scan puts out.
pub trait Sink: Send + Sync {
    /// What turns findings into bytes.
    type Output: Output;

    /// The output.
    fn output(&self) -> &Self::Output;

    /// Takes whole lines, some 64 to 256 KiB of them unless one object's part is larger. One
    /// worker at a time.
    ///
    /// # Errors
    ///
    /// If nothing more can be taken. The scan ends with this error.
    fn write(&self, block: &[u8]) -> io::Result<()>;

    /// Hears what became of an object. Called once an object, by any worker, in no order; its bytes
    /// may come later.
    fn report(&self, object: &Object, report: &Report) {
        let _ = (object, report);
    }

    /// Whether bytes should come as soon as an object has ended, for a person who waits for them,
    /// instead of in full blocks.
    fn is_prompt(&self) -> bool {
        false
    }
}
