//! Which headers are accepted as models, and what is told about them.

mod gguf_writer;

use gguf_writer::{Writer, llama};
use local_inference_core::error::ErrorCode;
use local_inference_core::gguf::{ModelKind, Pooling};

#[track_caller]
fn refused(file: &Writer, code: ErrorCode, says: &str) {
  let error = file.read().expect_err("the header must be refused");
  assert_eq!(error.code(), code, "{error}");
  assert!(error.to_string().contains(says), "{error} does not say {says:?}");
}

#[track_caller]
fn invalid(file: &Writer, says: &str) {
  refused(file, ErrorCode::ModelInvalid, says);
}

#[track_caller]
fn unsupported(file: &Writer, says: &str) {
  refused(file, ErrorCode::ModelUnsupported, says);
}

fn bert() -> Writer {
  let tokens: Vec<String> = (0..110).map(|id| format!("token{id}")).collect();
  let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
  Writer::new()
    .str("general.architecture", "bert")
    .u32("bert.context_length", 512)
    .u32("bert.embedding_length", 64)
    .u32("bert.block_count", 1)
    .u32("bert.feed_forward_length", 128)
    .u32("bert.attention.head_count", 4)
    .u32("bert.pooling_type", 2)
    .str("tokenizer.ggml.model", "bert")
    .strings("tokenizer.ggml.tokens", &tokens)
    .tensor("token_embd.weight", &[64, 110], 1)
}

#[test]
fn the_facts_of_a_chat_model_are_told() {
  let header = llama().read().unwrap();
  assert_eq!(header.kind, ModelKind::Chat);
  assert_eq!(header.architecture, "llama");
  assert_eq!(header.name.as_deref(), Some("Tiny Test"));
  assert_eq!(header.quantization, "Q8_0");
  assert_eq!((header.context_length, header.embedding_length, header.block_count), (512, 64, 2));
  assert_eq!((header.vocabulary_size, header.tensor_count), (8, 2));
  assert_eq!(header.parameter_count, 64 * 8 + 64);
  assert_eq!(header.weight_bytes, 544 + 256);
  assert_eq!(header.tokenizer_model.as_deref(), Some("llama"));
  assert_eq!(header.chat_template.as_deref(), Some("{{ messages }}"));
  assert_eq!((header.pooling, header.sliding_window), (None, None));
}

#[test]
fn encoders_and_pooled_models_are_for_embedding() {
  let header = bert().read().unwrap();
  assert_eq!((header.kind, header.pooling), (ModelKind::Embedding, Some(Pooling::Cls)));
  let pooled = llama().u32("llama.pooling_type", 3).read().unwrap();
  assert_eq!((pooled.kind, pooled.pooling), (ModelKind::Embedding, Some(Pooling::Last)));
  let unpooled = llama().u32("llama.pooling_type", 0).read().unwrap();
  assert_eq!((unpooled.kind, unpooled.pooling), (ModelKind::Chat, Some(Pooling::None)));
}

#[test]
fn a_file_without_tensors_is_a_vocabulary() {
  let bare = Writer::new()
    .str("general.architecture", "llama")
    .str("tokenizer.ggml.model", "llama")
    .strings("tokenizer.ggml.tokens", &["<unk>", "<s>", "</s>"]);
  let header = bare.read().unwrap();
  assert_eq!((header.kind, header.vocabulary_size, header.weight_bytes), (ModelKind::Vocabulary, 3, 0));
  assert_eq!(header.quantization, "none");
  assert!(header.geometry().unwrap().layers.is_empty());
  invalid(&Writer::new().str("general.architecture", "llama"), "neither tensors nor a vocabulary");
}

#[test]
fn the_quantisation_is_that_of_most_elements_when_the_file_does_not_say() {
  let file = llama().without("general.file_type");
  assert_eq!(file.read().unwrap().quantization, "Q8_0");
  assert_eq!(llama().u32("general.file_type", 15).read().unwrap().quantization, "Q4_K_M");
  assert_eq!(llama().u32("general.file_type", 1024 + 32).read().unwrap().quantization, "BF16");
  assert_eq!(llama().u32("general.file_type", 999).read().unwrap().quantization, "Q8_0");
}

#[test]
fn companions_of_a_model_are_not_models() {
  unsupported(&llama().str("general.architecture", "clip"), "projector");
  unsupported(&llama().str("general.type", "mmproj"), "projector");
  unsupported(&llama().str("general.type", "adapter"), "adapter");
  unsupported(&llama().str("general.type", "imatrix"), "importance matrix");
}

#[test]
fn the_architecture_is_a_short_identifier() {
  invalid(&llama().without("general.architecture"), "general.architecture");
  for name in ["", "a b", "../x", "lläma", &"x".repeat(65)] {
    invalid(&llama().str("general.architecture", name), "general.architecture");
  }
}

#[test]
fn required_sizes_are_present_and_possible() {
  for name in ["context_length", "embedding_length", "block_count"] {
    let key = format!("llama.{name}");
    invalid(&llama().without(&key), &key);
    invalid(&llama().u32(&key, 0), &key);
    invalid(&llama().u32(&key, u32::MAX), &key);
    invalid(&llama().str(&key, "many"), &key);
  }
  invalid(&llama().u32("llama.block_count", 513), "513");
  invalid(&llama().u32("llama.nextn_predict_layers", 3), "nextn_predict_layers");
  invalid(&llama().u32("llama.attention.head_count", 0), "0 attention heads");
  invalid(
    &llama().without("llama.attention.head_count").without("llama.attention.head_count_kv"),
    "head_count",
  );
  invalid(&llama().u32("llama.attention.head_count_kv", 3), "divide");
}

#[test]
fn values_per_layer_have_one_entry_for_each() {
  assert!(llama().i32s("llama.attention.head_count_kv", &[2, 4]).read().is_ok());
  for entries in [&[2][..], &[2, 2, 2], &[]] {
    invalid(&llama().i32s("llama.attention.head_count_kv", entries), "for 2 layers");
  }
  invalid(&llama().i32s("llama.attention.head_count", &[4, -4]), "not an array of integers");
}

#[test]
fn rotation_fits_the_heads() {
  assert!(llama().u32("llama.rope.dimension_count", 16).read().is_ok());
  invalid(&llama().u32("llama.rope.dimension_count", 8), "heads have 16");
  invalid(&llama().u32("llama.rope.dimension_count", 32), "rope.dimension_count");
  invalid(&llama().u32("llama.rope.dimension_count", 15), "odd");
  unsupported(&llama().str("llama.rope.scaling.type", "spiral"), "spiral");
  invalid(&llama().u32("llama.attention.value_length", 32), "differs");
}

#[test]
fn expert_counts_agree() {
  let experts = |count, used| llama().u32("llama.expert_count", count).u32("llama.expert_used_count", used);
  assert!(experts(8, 2).read().is_ok());
  invalid(&experts(8, 0), "expert");
  invalid(&experts(8, 9), "expert");
  invalid(&experts(0, 2), "expert");
  invalid(&experts(1025, 2), "expert_count");
  invalid(
    &experts(8, 2).u32("llama.expert_group_count", 3).u32("llama.expert_group_used_count", 1),
    "expert",
  );
  invalid(&experts(8, 2).u32("llama.expert_group_count", 8), "expert");
  invalid(&experts(8, 2).u32("llama.expert_gating_func", 9), "expert_gating_func");
}

#[test]
fn the_vocabulary_is_complete() {
  invalid(&llama().without("tokenizer.ggml.tokens"), "tokenizer.ggml.tokens");
  invalid(&llama().without("tokenizer.ggml.model"), "tokenizer.ggml.model");
  invalid(&llama().i32s("tokenizer.ggml.tokens", &[1]), "not an array of strings");
  invalid(&llama().strings("tokenizer.ggml.tokens", &[]), "0 entries");
  invalid(&llama().i32s("tokenizer.ggml.token_type", &[1, 1]), "2 entries for 8 tokens");
  invalid(&llama().i32s("tokenizer.ggml.scores", &[0; 7]), "7 entries");
  invalid(&llama().strings("tokenizer.ggml.token_type", &["x"; 8]), "element type");
  unsupported(&llama().str("tokenizer.ggml.model", "abacus"), "abacus");
}

#[test]
fn a_repeated_token_is_refused() {
  let with = |tokens: &[&str]| llama().strings("tokenizer.ggml.tokens", tokens);
  invalid(&with(&["<unk>", "<s>", "</s>", "a", "b", "c", "a", "e"]), "index 6");
  // C code sees both up to the NUL byte.
  invalid(&with(&["<unk>", "<s>", "</s>", "a", "b", "c", "x\0y", "x\0z"]), "index 7");
  assert!(with(&["<unk>", "<s>", "</s>", "", "b", "c", "", "\0"]).read().is_ok());
}

#[test]
fn byte_pair_tokenizers_need_merges() {
  let plain = llama().str("tokenizer.ggml.model", "gpt2");
  invalid(&plain, "merges");
  invalid(&plain.clone().i32s("tokenizer.ggml.merges", &[1]), "merges");
  assert!(plain.clone().strings("tokenizer.ggml.merges", &["a b"]).read().is_ok());
  assert!(plain.str("tokenizer.ggml.pre", "kimi-k2").read().is_ok());
}

#[test]
fn a_token_that_is_added_to_every_text_exists() {
  let two = ["<unk>"];
  let one_token = llama()
    .strings("tokenizer.ggml.tokens", &two)
    .tensor("token_embd.weight", &[64, 1], 8)
    .i32s("tokenizer.ggml.token_type", &[2]);
  invalid(&one_token, "bos_token_id");
  assert!(one_token.clone().flag("tokenizer.ggml.add_bos_token", false).read().is_ok());
  assert!(one_token.u32("tokenizer.ggml.bos_token_id", 0).read().is_ok());
  assert!(llama().u32("tokenizer.ggml.padding_token_id", 99_999).read().is_ok());
  let gpt = llama().str("tokenizer.ggml.model", "gpt2").strings("tokenizer.ggml.merges", &["a b"]);
  invalid(&gpt.clone().flag("tokenizer.ggml.add_eos_token", true), "eos_token_id");
  assert!(
    gpt.flag("tokenizer.ggml.add_eos_token", true).u32("tokenizer.ggml.eos_token_id", 2).read().is_ok()
  );
}

#[test]
fn the_embedding_table_agrees_with_width_and_vocabulary() {
  invalid(&llama().tensor("token_embd.weight", &[32, 8], 8), "embedding_length");
  invalid(&llama().tensor("token_embd.weight", &[64, 9], 8), "9 rows");
  unsupported(&llama().tensor("token_embd.weight", &[64, 8], 26), "I32");
  unsupported(&llama().tensor("output_norm.weight", &[64], 1), "F16");
}

#[test]
fn sliding_windows_follow_the_architecture() {
  let gemma = |layers: u32| {
    llama()
      .str("general.architecture", "gemma3")
      .u32("gemma3.context_length", 512)
      .u32("gemma3.embedding_length", 64)
      .u32("gemma3.block_count", layers)
      .u32("gemma3.attention.head_count", 4)
  };
  assert_eq!(gemma(7).read().unwrap().sliding_window, None);
  let windowed = gemma(7).u32("gemma3.attention.sliding_window", 128);
  assert_eq!(windowed.read().unwrap().sliding_window, Some(128));
  let layers = windowed.read().unwrap().geometry().unwrap().layers;
  let windows: Vec<_> = layers.iter().map(|layer| layer.window).collect();
  assert_eq!(windows, [Some(128), Some(128), Some(128), Some(128), Some(128), None, Some(128)]);
  invalid(&windowed.u32("gemma3.attention.sliding_window_pattern", 1), "no layer a window");
}

#[test]
fn a_model_that_must_slide_names_its_window() {
  let gemma = |window: Option<u32>, pattern: &[i32]| {
    let file = llama()
      .str("general.architecture", "gemma4")
      .u32("gemma4.context_length", 512)
      .u32("gemma4.embedding_length", 64)
      .u32("gemma4.block_count", 6)
      .u32("gemma4.attention.head_count", 4)
      .u32("gemma4.attention.shared_kv_layers", 2)
      .i32s("gemma4.attention.sliding_window_pattern", pattern);
    match window {
      Some(window) => file.u32("gemma4.attention.sliding_window", window),
      None => file,
    }
  };
  let sound = [1, 0, 1, 0, 1, 0];
  assert_eq!(gemma(Some(32), &sound).read().unwrap().geometry().unwrap().layers.len(), 4);
  invalid(&gemma(None, &sound), "sliding_window");
  invalid(&gemma(Some(0), &sound), "sliding_window");
  invalid(&gemma(Some(32), &[0; 6]), "no layer a window");
  invalid(&gemma(Some(32), &[0, 1, 0, 1, 1, 0]), "shared_kv_layers");
  invalid(&gemma(Some(32), &sound).u32("gemma4.attention.shared_kv_layers", 5), "shared_kv_layers");
  invalid(&gemma(Some(32), &sound).without("gemma4.attention.sliding_window_pattern"), "pattern");
}

#[test]
fn divisors_are_not_zero() {
  invalid(&llama().u32("llama.wkv.head_size", 0), "wkv.head_size");
  invalid(&llama().u32("llama.wkv.head_size", 48), "divide");
  invalid(&llama().u32("llama.interleave_moe_layer_step", 0), "interleave_moe_layer_step");
  invalid(&llama().u32("llama.pooling_type", 5), "pooling_type");
}
