//! Device models: what the `sim` backend simulates.

use crate::abi::Request;
use crate::error::Result;

/// How a simulated I/O ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Finish {
    /// When, in ns of the virtual clock; not before its submission.
    pub finish_ns: u64,
    /// 0, or a positive errno.
    pub errno: i32,
    /// Bytes moved.
    pub bytes: u32,
}

/// A device in one thread and one order: the engine submits in the order of virtual time.
pub trait DeviceModel: Send {
    /// Accepts requests at `now_ns` (which never runs backwards) and says how each one ends.
    ///
    /// # Errors
    /// The step stops with the message.
    fn submit(&mut self, now_ns: u64, requests: &[Request], out: &mut [Finish]) -> Result<()>;
}
