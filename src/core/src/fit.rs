//! What fits in memory: size of the KV cache and of the compute buffers, and the largest context that leaves headroom.

mod assess;
mod compute;
mod drafter;
mod geometry;
mod input;
mod kv_type;
mod plan;
mod shortage;
mod units;

pub use assess::{Assessment, assess};
pub use compute::{ComputeBatch, ComputeShape, compute_bytes};
pub use drafter::DrafterShape;
pub use geometry::{CacheKind, KvGeometry, LayerCache, Windows};
pub use input::FitInput;
pub use kv_type::KvType;
pub use plan::{FitPlan, plan};
pub use units::{CONTEXT_STEP, default_headroom};
