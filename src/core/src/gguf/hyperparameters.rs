//! What llama.cpp knows about architectures beyond their metadata, as far as it decides memory or an assertion.
//!
//! Source: `load_arch_hparams` and the graph builders of `src/models/*.cpp`, `create_memory` of `llama-model.cpp`.
//! An architecture that is not listed is treated as plain attention in every layer, the largest cache there is.

/// Which layers attend to a sliding window only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pattern {
  /// In every group of this many layers the last one sees everything; the metadata may say otherwise.
  LastDense(u64),
  /// In every group of this many layers the first one sees everything; the metadata may say otherwise.
  FirstDense(u64),
  /// The metadata lists the layers, and must.
  Listed,
  /// Every attention layer slides.
  All,
}

/// How an architecture uses sliding windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sliding {
  pub(super) pattern: Pattern,
  /// Window when the metadata names none; zero turns windows off then.
  pub(super) default: u64,
  /// The window is `default` whatever the metadata says, unless it says zero.
  pub(super) fixed: bool,
}

/// How `architecture` with `layers` layers slides; none when every layer sees everything.
pub(super) fn sliding(architecture: &str, layers: usize) -> Option<Sliding> {
  use Pattern::{All, FirstDense, LastDense, Listed};
  let rule = |pattern, default| Some(Sliding { pattern, default, fixed: false });
  match architecture {
    "afmoe" | "cohere2" | "exaone-moe" | "mellum" | "muse-glimmer" | "olmo2" => rule(LastDense(4), 0),
    "exaone4" if layers == 64 => rule(LastDense(4), 4096),
    "cohere2moe" | "laguna" | "smallthinker" => rule(FirstDense(4), 0),
    "gemma2" => rule(LastDense(2), 4096),
    "gpt-oss" => rule(LastDense(2), 0),
    "gemma3" | "gemma-embedding" => rule(LastDense(6), 0),
    "gemma3n" => rule(LastDense(5), 0),
    "plamo3" => rule(LastDense(8), 0),
    "modern-bert" => rule(FirstDense(3), 0),
    "gemma4" | "gemma4-assistant" | "maple" | "mimo2" | "spark2_5" | "step35" | "granite_swa"
    | "dots3note" => rule(Listed, 0),
    "lfm2" => rule(All, 0),
    "llama4" => Some(Sliding { pattern: LastDense(4), default: 8192, fixed: true }),
    _ => None,
  }
}

/// Whether llama.cpp asserts that a window is in use for `architecture`.
pub(super) fn must_slide(architecture: &str) -> bool {
  matches!(
    architecture,
    "cohere2"
      | "cohere2moe"
      | "exaone-moe"
      | "gemma2"
      | "gemma3n"
      | "gemma4"
      | "gemma4-assistant"
      | "gpt-oss"
      | "maple"
      | "mimo2"
      | "muse-glimmer"
      | "spark2_5"
      | "step35"
      | "granite_swa"
      | "dots3note"
  )
}

/// Which layers keep a recurrent state instead of, or beside, keys and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recurrence {
  /// None.
  Never,
  /// Every layer, and no layer attends.
  Always,
  /// Every layer, and every layer attends too.
  Beside,
  /// Those without key-value heads.
  WithoutHeads,
  /// Those without key-value heads and without feed-forward; the others attend when they have no feed-forward.
  WithoutHeadsAndFeedForward,
  /// All but each n-th; `full_attention_interval` or a list replaces the number.
  Interval(u64),
}

/// The recurrence of `architecture`.
pub(super) fn recurrence(architecture: &str) -> Recurrence {
  match architecture {
    "mamba" | "mamba2" | "rwkv6" | "rwkv6qwen2" | "rwkv7" | "arwkv7" => Recurrence::Always,
    "falcon-h1" => Recurrence::Beside,
    "jamba" | "plamo2" | "granitehybrid" | "lfm2" | "lfm2moe" | "kimi-linear" | "kimi-k3" | "bailingmoe3"
    | "glm5-next" => Recurrence::WithoutHeads,
    "nemotron_h" | "nemotron_h_moe" => Recurrence::WithoutHeadsAndFeedForward,
    "qwen3next" | "qwen35" | "qwen35moe" | "qwen4exp" => Recurrence::Interval(4),
    "minimax-01" => Recurrence::Interval(8),
    _ => Recurrence::Never,
  }
}

/// Architectures whose only use is an embedding (or classification) of the whole input.
pub(super) fn is_encoder(architecture: &str) -> bool {
  matches!(
    architecture,
    "bert"
      | "modern-bert"
      | "nomic-bert"
      | "nomic-bert-moe"
      | "neo-bert"
      | "jina-bert-v2"
      | "jina-bert-v3"
      | "eurobert"
      | "gemma-embedding"
      | "llama-embed"
      | "t5encoder"
  )
}

/// Architectures for which llama.cpp allocates no cache at all.
pub(super) fn has_no_cache(architecture: &str) -> bool {
  let encoder = is_encoder(architecture) && !matches!(architecture, "llama-embed" | "t5encoder");
  encoder || matches!(architecture, "dream" | "llada" | "llada-moe" | "rnd1" | "clef" | "wavtokenizer-dec")
}

/// Architectures whose token embedding has another width than `embedding_length`, or is borrowed from a target model.
pub(super) fn has_own_embedding_width(architecture: &str) -> bool {
  matches!(architecture, "wavtokenizer-dec" | "eagle3" | "dflash" | "pockettts" | "qwen3tts")
}

/// Whether the graph asserts that rotation covers the whole attention head.
#[rustfmt::skip]
pub(super) fn rotates_whole_head(architecture: &str) -> bool {
  const NAMES: &[&str] = &[
    "apertus", "arcee", "arctic", "baichuan", "chameleon", "codeshell", "cogvlm", "cohere2moe", "dbrx",
    "deci", "deepseek", "dots1", "dream", "ernie4_5", "ernie4_5-moe", "exaone", "exaone-moe", "exaone4",
    "falcon", "granite", "granitemoe", "granite_swa", "graniteswitch", "grok", "grovemoe", "hunyuan-moe",
    "hunyuan_vl", "hy_v3", "internlm2", "jais2", "llada", "llada-moe", "llama", "llama4", "maincoder",
    "mellum", "mistral3", "olmo", "olmo2", "olmoe", "orion", "paddleocr", "pangu-embedded", "plamo",
    "qwen2", "qwen2moe", "qwen2vl", "qwen3", "qwen3moe", "qwen3vl", "qwen3vlmoe", "rnd1", "seed_oss",
    "smallthinker", "smollm3", "starcoder2", "talkie", "xverse",
  ];
  NAMES.contains(&architecture)
}

/// Whether the graph asserts that keys and values have the same length.
#[rustfmt::skip]
pub(super) fn keys_equal_values(architecture: &str) -> bool {
  const NAMES: &[&str] = &[
    "afmoe", "bailingmoe2", "bert", "bitnet", "bloom", "chatglm", "cohere2", "command-r", "eurobert",
    "gemma4", "glm4", "glm4moe", "gpt2", "gptneox", "granitehybrid", "jais", "jina-bert-v2", "jina-bert-v3",
    "laguna", "lfm2", "lfm2moe", "minimax-01", "minimax-m2", "minimax-m3", "modern-bert", "mpt",
    "muse-glimmer", "nanbeige", "nemotron", "nemotron_h", "nemotron_h_moe", "neo-bert", "nomic-bert",
    "nomic-bert-moe", "openelm", "phi2", "phi3", "phimoe", "qwen", "qwen35", "qwen35moe", "qwen3next",
    "qwen4exp", "refact", "spark2_5", "stablelm", "starcoder", "t5",
  ];
  rotates_whole_head(architecture) || NAMES.contains(&architecture)
}
