//! The process around the addon: its end, its allocator, its log.

pub(crate) mod exit;
pub(crate) mod logs;
pub(crate) mod memory;
