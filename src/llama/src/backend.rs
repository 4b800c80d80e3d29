//! llama.cpp in this process: which compute modules are loaded, what devices they offer, what failed and why.

mod devices;
mod failures;
mod modules;
mod start;

pub use devices::{Device, device_memory, devices, has_gpu};
pub use failures::ModuleFailure;
pub use modules::{CPU_MODULE_VARIABLE, cpu_levels};
pub use start::{Backend, get, llama_version, start, system_info};
