//! Which models can draft with multi-token-prediction heads of their own, from their headers.

#![allow(clippy::unwrap_used, reason = "a test that cannot build its input fails")]

mod gguf_writer;

use gguf_writer::Writer;
use local_inference_core::speculate::{MAX_WINDOW, Problem, own_heads};

const PARTS: [&str; 6] =
  ["attn_norm", "attn_output", "nextn.eh_proj", "nextn.enorm", "nextn.hnorm", "ffn_norm"];

/// A model of `architecture` with `layers` layers, the last `heads` of which are heads with `parts`.
fn model(architecture: &str, layers: u32, heads: u32, parts: &[&str]) -> Writer {
  let key = |name: &str| format!("{architecture}.{name}");
  let header = Writer::new()
    .str("general.architecture", architecture)
    .u32(&key("context_length"), 512)
    .u32(&key("embedding_length"), 64)
    .u32(&key("block_count"), layers)
    .u32(&key("nextn_predict_layers"), heads)
    .u32(&key("feed_forward_length"), 128)
    .u32(&key("attention.head_count"), 4)
    .u32(&key("attention.head_count_kv"), 2)
    .u32(&key("attention.sliding_window"), 32)
    .u32(&key("full_attention_interval"), 4)
    .u32(&key("ssm.conv_kernel"), 4)
    .u32(&key("ssm.inner_size"), 64)
    .u32(&key("ssm.state_size"), 16)
    .u32(&key("ssm.time_step_rank"), 4)
    .u32(&key("ssm.group_count"), 1)
    .str("tokenizer.ggml.model", "llama")
    .strings("tokenizer.ggml.tokens", &["<unk>", "<s>", "</s>", "a", "b", "c", "d", "e"])
    .i32s("tokenizer.ggml.token_type", &[2, 3, 3, 1, 1, 1, 1, 1])
    .tensor("token_embd.weight", &[64, 8], 8)
    .tensor("output_norm.weight", &[64], 0);
  let names = (layers - heads..layers).flat_map(|layer| parts.iter().map(move |part| (layer, part)));
  names.fold(header, |writer, (layer, part)| writer.tensor(&format!("blk.{layer}.{part}.weight"), &[64], 0))
}

fn refused(writer: &Writer) -> (Problem, String) {
  let unusable = own_heads(&writer.read().unwrap()).unwrap_err();
  (unusable.problem, unusable.message)
}

#[test]
fn heads_have_a_cache_and_a_longest_draft_of_their_own() {
  let header = model("hy_v3", 3, 1, &PARTS).read().unwrap();
  let heads = own_heads(&header).unwrap();
  assert_eq!((heads.count, heads.longest_draft()), (1, MAX_WINDOW));
  let layers = &heads.geometry.layers;
  assert_eq!((layers.len(), layers[0].key_elements, layers[0].value_head), (1, 32, 16));
  // That of the model has its other layers.
  assert_eq!(header.geometry().unwrap().layers.len(), 2);
  let heads = own_heads(&model("hy_v3", 5, 3, &PARTS).read().unwrap()).unwrap();
  assert_eq!((heads.count, heads.longest_draft()), (3, 3));
}

#[test]
fn what_llama_cpp_would_abort_over_is_refused() {
  let (problem, message) = refused(&gguf_writer::llama());
  assert_eq!(problem, Problem::Heads, "{message}");
  for part in &PARTS {
    let rest: Vec<_> = PARTS.iter().copied().filter(|other| other != part).collect();
    let (problem, message) = refused(&model("hy_v3", 3, 1, &rest));
    assert_eq!(problem, Problem::Heads, "{message}");
    assert!(message.contains(&format!("blk.2.{part}.weight")), "{message}");
  }
  // Other graphs read experts of the head, or know one head only.
  let (problem, message) = refused(&model("glm4moe", 3, 1, &PARTS));
  assert_eq!(problem, Problem::Heads, "{message}");
  assert!(message.contains("ffn_gate_inp"), "{message}");
  let (problem, message) = refused(&model("glm4moe", 4, 2, &PARTS));
  assert_eq!(problem, Problem::Unsupported, "{message}");
  for (architecture, layers, heads, word) in [("llama", 3, 1, "llama"), ("hy_v3", 2, 2, "no model")] {
    let (problem, message) = refused(&model(architecture, layers, heads, &PARTS));
    assert_eq!(problem, Problem::Unsupported, "{message}");
    assert!(message.contains(word), "{message}");
  }
}

#[test]
fn models_with_recurrent_state_do_not_draft_with_their_heads() {
  for architecture in ["qwen3next", "qwen35"] {
    let (problem, message) = refused(&model(architecture, 5, 1, &PARTS));
    assert_eq!(problem, Problem::Unsupported, "{architecture}: {message}");
    assert!(message.contains("recurrent"), "{architecture}: {message}");
  }
}
