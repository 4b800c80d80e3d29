//! What holds for any model on any machine.

use local_inference_core::error::ErrorCode;
use local_inference_core::fit::{FitInput, KvGeometry, LayerCache, plan};
use proptest::prelude::*;

use crate::input::{MIB, input};

prop_compose! {
  fn inputs()(
    training_context in 1u32..200_000, memory in 0u64..8192, headroom in 0u64..1024, weights in 0u64..4096,
    loaded in any::<bool>(), window in prop::option::of(1u32..5000), head in prop::sample::select(vec![64u64, 80]),
    layers in 0usize..40, sequences in 1u32..8, micro_batch in 1u32..1024, flash_attention in any::<bool>(),
  ) -> FitInput {
    let layer =
      LayerCache { key_elements: 8 * head, value_elements: 8 * head, key_head: head, value_head: head, window };
    FitInput {
      training_context, weights_loaded: loaded, flash_attention, sequences, micro_batch,
      memory_available: memory * MIB, headroom: headroom * MIB, weight_bytes: weights * MIB,
      geometry: KvGeometry { layers: vec![layer; layers], state_bytes: 1000 },
      ..input()
    }
  }
}

proptest! {
  #[test]
  fn a_plan_never_exceeds_the_memory(input in inputs(), requested in prop::option::of(0u32..200_000)) {
    let input = FitInput { requested_context: requested, ..input };
    if let Ok(plan) = plan(&input) {
      let weights = if input.weights_loaded { 0 } else { input.weight_bytes };
      prop_assert!(weights + plan.kv_bytes + plan.compute_bytes + input.headroom <= input.memory_available);
      prop_assert!(plan.context > 0 && plan.context <= input.training_context);
      if let Some(requested) = requested.filter(|requested| *requested > 0) {
        prop_assert_eq!(plan.context, requested);
      }
    }
  }

  #[test]
  fn more_memory_never_shortens_the_context(input in inputs(), more in 1u64..4096) {
    let richer = FitInput { memory_available: input.memory_available + more * MIB, ..input.clone() };
    let context = |input| plan(input).map_or(0, |plan| plan.context);
    // A richer machine may take the whole context as f16 where a poorer one had to quantise it: equal, not shorter.
    prop_assert!(context(&richer) >= context(&input));
  }

  #[test]
  fn the_same_input_gives_the_same_plan(input in inputs()) {
    prop_assert_eq!(plan(&input), plan(&input));
  }

  #[test]
  fn the_next_step_would_not_fit(input in inputs()) {
    if let Ok(found) = plan(&input) && found.context + 256 <= input.training_context {
      let next = FitInput {
        requested_context: Some(found.context + 256), kv_k: Some(found.kv_k), kv_v: Some(found.kv_v), ..input
      };
      prop_assert_eq!(plan(&next).unwrap_err().code(), ErrorCode::OutOfMemory);
    }
  }
}
