//! Memory of known shapes, and which context is chosen for it.

#![allow(clippy::unwrap_used, reason = "a test that cannot build its input fails")]

#[path = "../gguf_writer/mod.rs"]
mod gguf_writer;

mod input;
mod properties;

use gguf_writer::{Writer, llama};
use input::{MIB, input};
use local_inference_core::error::ErrorCode;
use local_inference_core::fit::{
  CacheKind, DrafterShape, FitInput, KvGeometry, KvType, Windows, assess, compute_bytes, plan,
};

fn model(architecture: &str, sizes: &[(&str, u32)]) -> Writer {
  let mut file = llama().str("general.architecture", architecture);
  let basic =
    [("context_length", 4096), ("embedding_length", 64), ("block_count", 4), ("attention.head_count", 4)];
  for (name, value) in basic.iter().chain(sizes) {
    file = file.u32(&format!("{architecture}.{name}"), *value);
  }
  file
}

fn geometry(file: &Writer) -> KvGeometry {
  file.read().unwrap().geometry().unwrap()
}

#[test]
fn the_whole_training_context_is_taken_when_it_fits() {
  let plan = plan(&input()).unwrap();
  assert_eq!((plan.context, plan.kv_k, plan.kv_v), (8192, KvType::F16, KvType::F16));
  assert_eq!(plan.kv_bytes, 8192 * 1024);
  assert_eq!(plan.weight_bytes, 100 * MIB);
  assert!(plan.reason.contains("whole training context") && !plan.reason.contains('\n'), "{}", plan.reason);
}

#[test]
fn a_tight_machine_gets_a_quantised_cache_and_a_longer_context() {
  let tight = FitInput { training_context: 1 << 20, memory_available: 400 * MIB, ..input() };
  let coarse = plan(&tight).unwrap();
  assert_eq!((coarse.kv_k, coarse.kv_v), (KvType::Q8_0, KvType::Q8_0));
  assert_eq!(coarse.context % 256, 0);
  let exact = plan(&FitInput { kv_k: Some(KvType::F16), ..tight.clone() }).unwrap();
  assert_eq!(exact.kv_k, KvType::F16);
  assert!(coarse.context > exact.context, "{} {}", coarse.context, exact.context);
  assert!(coarse.reason.contains("largest that fits"), "{}", coarse.reason);
}

#[test]
fn a_draft_model_takes_its_part_of_the_memory() {
  let tight = FitInput { training_context: 1 << 20, memory_available: 400 * MIB, ..input() };
  let alone = plan(&tight).unwrap();
  let own = DrafterShape { geometry: Some(input().geometry), compute: input().compute };
  let pair = plan(&FitInput { drafter: Some(own.clone()), ..tight.clone() }).unwrap();
  // Its cache is f16, that of the model q8_0: 1 KiB for a token beside about half of that.
  assert!(pair.context * 2 < alone.context, "{} beside {}", pair.context, alone.context);
  assert!(pair.drafter_bytes > u64::from(pair.context) * 1024);
  let all = pair.kv_bytes + pair.compute_bytes + pair.drafter_bytes + pair.weight_bytes;
  assert!(all <= 336 * MIB, "{all}");
  let sharing = DrafterShape { geometry: None, ..own };
  let assistant = plan(&FitInput { drafter: Some(sharing), ..tight.clone() }).unwrap();
  assert!(assistant.context > pair.context && assistant.context <= alone.context);
  let error = plan(&FitInput {
    requested_context: Some(1 << 20),
    drafter: Some(DrafterShape { geometry: Some(input().geometry), compute: input().compute }),
    ..tight
  })
  .unwrap_err();
  assert!(error.to_string().contains("drafter 1.1 GiB"), "{error}");
}

#[test]
fn heads_that_are_not_whole_blocks_keep_f16() {
  let mut tight = FitInput { training_context: 1 << 20, memory_available: 400 * MIB, ..input() };
  tight.geometry.layers[0].key_head = 80;
  assert_eq!(plan(&tight).unwrap().kv_k, KvType::F16);
  let forced = plan(&FitInput { kv_k: Some(KvType::Q8_0), ..tight }).unwrap_err();
  assert_eq!(forced.code(), ErrorCode::InvalidInput);
}

#[test]
fn quantised_values_need_flash_attention() {
  let without = FitInput { flash_attention: false, ..input() };
  let error = plan(&FitInput { kv_v: Some(KvType::Q8_0), ..without.clone() }).unwrap_err();
  assert_eq!(error.code(), ErrorCode::InvalidInput);
  assert!(plan(&FitInput { kv_k: Some(KvType::Q8_0), ..without }).is_ok());
}

#[test]
fn a_requested_context_is_kept_or_refused_with_the_largest() {
  let asked = FitInput { requested_context: Some(1000), ..input() };
  assert_eq!(plan(&asked).unwrap().context, 1000);
  let error = plan(&FitInput { requested_context: Some(9000), ..input() }).unwrap_err();
  assert_eq!(error.code(), ErrorCode::InvalidInput);
  assert!(error.to_string().contains("8192"), "{error}");

  let tight = FitInput { training_context: 1 << 20, memory_available: 400 * MIB, ..input() };
  let largest = plan(&tight).unwrap().context;
  let error = plan(&FitInput { requested_context: Some(1 << 20), ..tight }).unwrap_err();
  assert_eq!(error.code(), ErrorCode::OutOfMemory);
  assert!(error.to_string().contains(&format!("{largest} tokens")), "{error}");
}

#[test]
fn weights_that_do_not_fit_say_what_is_missing() {
  let small = FitInput { memory_available: 120 * MIB, ..input() };
  let error = plan(&small).unwrap_err();
  assert_eq!(error.code(), ErrorCode::OutOfMemory);
  assert!(error.to_string().contains("44 MiB are missing"), "{error}");
  assert!(plan(&FitInput { weights_loaded: true, ..small }).is_ok());
}

#[test]
fn no_room_for_any_context_is_out_of_memory() {
  let error = plan(&FitInput { memory_available: 165 * MIB, ..input() }).unwrap_err();
  assert_eq!(error.code(), ErrorCode::OutOfMemory);
  assert!(error.to_string().contains("not even 256 tokens"), "{error}");
}

#[test]
fn a_short_training_context_counts_whole() {
  let plan = plan(&FitInput { training_context: 128, ..input() }).unwrap();
  assert_eq!(plan.context, 128);
}

#[test]
fn a_bare_vocabulary_has_no_context() {
  let bare = Writer::new()
    .str("general.architecture", "llama")
    .u32("llama.context_length", 512)
    .str("tokenizer.ggml.model", "llama")
    .strings("tokenizer.ggml.tokens", &["<unk>", "<s>", "</s>"]);
  let input = FitInput::new(&bare.read().unwrap(), 1 << 30, 0).unwrap();
  assert_eq!(plan(&input).unwrap_err().code(), ErrorCode::Unsupported);
}

#[test]
fn grouped_heads_share_keys_and_values() {
  let geometry = geometry(&llama());
  assert_eq!(geometry.layers.len(), 2);
  assert_eq!((geometry.layers[0].key_elements, geometry.layers[0].value_elements), (32, 32));
  let cache = CacheKind { k: KvType::F16, v: KvType::F16, windows: Windows::Full };
  assert_eq!(geometry.bytes(512, 1, 512, cache), 2 * 512 * 128);
}

#[test]
fn encoders_have_no_cache() {
  let encoder = model("modern-bert", &[]).u32("modern-bert.pooling_type", 1);
  assert!(geometry(&encoder).layers.is_empty());
}

#[test]
fn gemma_4_shares_layers_and_has_two_head_sizes() {
  let file = model(
    "gemma4",
    &[
      ("block_count", 6),
      ("attention.head_count_kv", 1),
      ("attention.key_length", 128),
      ("attention.value_length", 128),
      ("attention.key_length_swa", 64),
      ("attention.value_length_swa", 64),
      ("attention.sliding_window", 32),
      ("attention.shared_kv_layers", 2),
    ],
  );
  let geometry = geometry(&file.i32s("gemma4.attention.sliding_window_pattern", &[1, 0, 1, 0, 1, 0]));
  let elements: Vec<_> = geometry.layers.iter().map(|layer| (layer.key_elements, layer.window)).collect();
  assert_eq!(elements, [(64, Some(32)), (128, None), (64, Some(32)), (128, None)]);
}

#[test]
fn latent_attention_stores_keys_only() {
  let sizes = [
    ("attention.head_count_kv", 1),
    ("attention.key_length", 96),
    ("attention.value_length", 64),
    ("attention.key_length_mla", 48),
    ("attention.value_length_mla", 32),
  ];
  let layer = geometry(&model("deepseek2", &sizes)).layers[0];
  assert_eq!((layer.key_elements, layer.value_elements), (96, 0));
}

#[test]
fn state_space_models_store_state_instead_of_keys() {
  let sizes = [
    ("attention.head_count", 0),
    ("ssm.conv_kernel", 4),
    ("ssm.inner_size", 128),
    ("ssm.state_size", 16),
    ("ssm.time_step_rank", 4),
  ];
  let geometry = geometry(&model("mamba", &sizes));
  assert!(geometry.layers.is_empty());
  assert_eq!(geometry.state_bytes, 4 * (3 * 128 + 16 * 128) * 4);
}

#[test]
fn hybrid_models_attend_in_every_nth_layer() {
  let sizes = [
    ("block_count", 8),
    ("ssm.conv_kernel", 4),
    ("ssm.inner_size", 128),
    ("ssm.state_size", 16),
    ("ssm.group_count", 2),
    ("ssm.time_step_rank", 8),
  ];
  let geometry = geometry(&model("qwen35", &sizes));
  assert_eq!(geometry.layers.len(), 2);
  assert_eq!(geometry.state_bytes, 6 * (3 * (128 + 2 * 2 * 16) + 16 * 128) * 4);
}

#[test]
fn layers_of_a_draft_head_own_no_cache() {
  let file = model("glm4moe", &[("nextn_predict_layers", 1)]);
  assert_eq!(geometry(&file).layers.len(), 3);
}

#[test]
fn compute_buffers_grow_with_the_vocabulary() {
  let header = llama().read().unwrap();
  assert!(compute_bytes(&header, 512, 512, 512, true).unwrap() >= 512 * 8 * 4);
}

#[test]
fn windows_are_trimmed_only_when_they_do_not_fit_in_full() {
  let mut sliding = FitInput { training_context: 65_536, ..input() };
  sliding.geometry.layers[0].window = Some(512);
  assert_eq!(plan(&sliding).unwrap().windows, Windows::Full);
  let tight = FitInput { memory_available: 205 * MIB, ..sliding.clone() };
  let trimmed = plan(&tight).unwrap();
  assert_eq!((trimmed.windows, trimmed.context), (Windows::Trimmed, 65_536));
  assert!(trimmed.reason.contains("sliding windows trimmed"), "{}", trimmed.reason);
  assert!(trimmed.kv_bytes < plan(&sliding).unwrap().kv_bytes);
}

#[test]
fn an_assessment_has_numbers_where_a_plan_refuses() {
  let wanted = FitInput { requested_context: Some(8192), memory_available: 170 * MIB, ..input() };
  let found = assess(&wanted).unwrap();
  assert!(!found.fits && found.missing > 0 && found.largest_context > 0, "{found:?}");
  assert_eq!(found.missing, found.needed - found.budget);
  assert_eq!(found.plan.context, 8192);
  let fitting = assess(&FitInput { requested_context: Some(found.largest_context), ..wanted }).unwrap();
  assert!(fitting.fits && fitting.missing == 0, "{fitting:?}");
}

#[test]
fn an_assessment_of_a_machine_without_room_is_not_an_error() {
  let found = assess(&FitInput { memory_available: 0, ..input() }).unwrap();
  assert_eq!((found.fits, found.largest_context, found.budget), (false, 0, 0));
  let bad = FitInput { requested_context: Some(9000), ..input() };
  assert_eq!(assess(&bad).unwrap_err().code(), ErrorCode::InvalidInput);
}
