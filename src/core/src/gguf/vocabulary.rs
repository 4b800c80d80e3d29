//! Checks of the vocabulary against what llama.cpp asserts about it.

use super::error::{damaged, invalid, unsupported};
use super::metadata::Metadata;
use super::value::{Array, ArrayContent, ValueType};
use crate::error::Result;

/// How a tokenizer model treats the special tokens that llama.cpp asserts on.
struct Tokenizer {
  /// Default ids of beginning, end and separator of text.
  begin: Option<u64>,
  end: Option<u64>,
  separator: Option<u64>,
  /// Defaults of the `add_*_token` settings.
  adds_begin: bool,
  adds_end: bool,
  /// Beginning and separator are added whatever the settings say.
  always_framed: bool,
}

const PLAIN: Tokenizer = Tokenizer {
  begin: None,
  end: None,
  separator: None,
  adds_begin: false,
  adds_end: false,
  always_framed: false,
};

/// Pre-tokenizers that prepend the beginning of text unless told otherwise.
const PREPENDING: [&str; 11] = [
  "llama3",
  "llama-v3",
  "llama-bpe",
  "falcon3",
  "falcon-h1",
  "pixtral",
  "midm-2.0",
  "lfm2",
  "jina-v5-nano",
  "tekken",
  "chameleon",
];

fn tokenizer(model: &str, pre: &str) -> Option<Tokenizer> {
  Some(match model {
    "llama" => Tokenizer { begin: Some(1), end: Some(2), adds_begin: true, ..PLAIN },
    "bert" => Tokenizer { begin: Some(101), separator: Some(102), always_framed: true, ..PLAIN },
    "gpt2" | "hybriddna" | "whitespace" => {
      Tokenizer { begin: Some(11), end: Some(11), adds_begin: PREPENDING.contains(&pre), ..PLAIN }
    }
    "gemma4" => Tokenizer { adds_begin: true, ..PLAIN },
    "t5" => Tokenizer { end: Some(1), adds_end: true, ..PLAIN },
    "plamo2" => Tokenizer { begin: Some(1), end: Some(2), ..PLAIN },
    "rwkv" => PLAIN,
    _ => return None,
  })
}

/// Number of tokens, after every check; none when the model carries no tokenizer.
pub(super) fn validate(metadata: &Metadata, architecture: &str) -> Result<Option<u64>> {
  let Some(model) = metadata.get_str("tokenizer.ggml.model") else {
    return if metadata.get("tokenizer.ggml.tokens").is_some() {
      Err(damaged("tokenizer.ggml.model is missing"))
    } else {
      Ok(None)
    };
  };
  if matches!(model, "none" | "no_vocab") {
    return metadata.integer(&format!("{architecture}.vocab_size"), 0..=i32::MAX.unsigned_abs().into());
  }
  let pre = metadata.get_str("tokenizer.ggml.pre").unwrap_or("");
  let rules = tokenizer(model, pre).ok_or_else(|| {
    let shown: String = model.chars().take(40).collect();
    unsupported(format!("the tokenizer {shown:?} is not one that this build knows"))
  })?;
  let tokens = tokens(metadata)?;
  per_token(metadata, "tokenizer.ggml.scores", tokens, &[ValueType::F32, ValueType::I32])?;
  per_token(metadata, "tokenizer.ggml.token_type", tokens, &[ValueType::I32])?;
  // Kimi's tokenizer works without merges.
  let merged = matches!(model, "gpt2" | "hybriddna" | "whitespace") && pre != "kimi-k2";
  if merged || model == "gemma4" {
    merges(metadata)?;
  }
  special_tokens(metadata, &rules, tokens)?;
  Ok(Some(tokens))
}

fn tokens(metadata: &Metadata) -> Result<u64> {
  let key = "tokenizer.ggml.tokens";
  let array = metadata.get_array(key).ok_or_else(|| damaged(format_args!("{key} is missing")))?;
  let Array { len, content: ArrayContent::Strings(facts), .. } = array else {
    return Err(damaged(format_args!("{key} is not an array of strings")));
  };
  if *len == 0 || *len > i32::MAX.unsigned_abs().into() {
    return Err(damaged(format_args!("{key} has {len} entries")));
  }
  match facts.duplicate {
    Some(index) => Err(damaged(format_args!("{key} repeats an earlier token at index {index}"))),
    None => Ok(*len),
  }
}

/// llama.cpp reads one entry per token and accepts a longer array.
fn per_token(metadata: &Metadata, key: &str, tokens: u64, kinds: &[ValueType]) -> Result<()> {
  if metadata.get(key).is_none() {
    return Ok(());
  }
  let array = metadata.get_array(key).ok_or_else(|| damaged(format_args!("{key} is not an array")))?;
  if !kinds.contains(&array.kind) {
    return Err(damaged(format_args!("{key} has the wrong element type")));
  }
  if array.len < tokens {
    return Err(damaged(format_args!("{key} has {} entries for {tokens} tokens", array.len)));
  }
  Ok(())
}

fn merges(metadata: &Metadata) -> Result<()> {
  let key = "tokenizer.ggml.merges";
  match metadata.get_array(key) {
    Some(array) if array.kind == ValueType::String => Ok(()),
    Some(_) => Err(damaged(format_args!("{key} is not an array of strings"))),
    None => Err(invalid(format!("{key} is missing, which this tokenizer needs; use a current conversion"))),
  }
}

/// An id beyond the vocabulary counts as absent, as for llama.cpp; one that must be added to a text must exist.
fn special_tokens(metadata: &Metadata, rules: &Tokenizer, tokens: u64) -> Result<()> {
  let exists = |name: &str, default: Option<u64>| {
    let named = metadata.get_u64(&format!("tokenizer.ggml.{name}_token_id"));
    named.is_some_and(|id| id < tokens) || default.is_some_and(|id| id < tokens)
  };
  let flag = |name: &str, default| metadata.get_bool(&format!("tokenizer.ggml.{name}")).unwrap_or(default);
  let missing = |name: &str| {
    Err(damaged(format_args!(
      "the tokenizer adds a {name} token to every text, but tokenizer.ggml.{name}_token_id names none"
    )))
  };
  let forced = metadata.get_str("tokenizer.ggml.model") == Some("gemma4");
  let begins = rules.always_framed || forced || flag("add_bos_token", rules.adds_begin);
  if begins && !exists("bos", rules.begin) {
    return missing("bos");
  }
  if !rules.always_framed && flag("add_eos_token", rules.adds_end) && !exists("eos", rules.end) {
    return missing("eos");
  }
  if rules.always_framed && !exists("seperator", rules.separator) {
    return missing("seperator");
  }
  Ok(())
}
