//! One evaluation of a text with a given kind of KV cache.

use std::error::Error;
use std::num::NonZeroU32;
use std::path::Path;

use llama_cpp_2::context::params::{KvCacheType, LlamaContextParams};
use llama_cpp_2::llama_backend::{LlamaBackend, load_backends_from_path};
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::{LlamaModel, params::LlamaModelParams};
use llama_cpp_2::token::LlamaToken;
use llama_cpp_sys_2 as sys;

/// llama.cpp reads it whenever it makes a KV cache.
const ROTATION_SWITCH: &str = "LLAMA_ATTN_ROT_DISABLE";

/// How keys and values are stored and attended to.
#[derive(Clone, Copy)]
pub(crate) struct Cache {
  kind: KvCacheType,
  flash: bool,
  rotated: bool,
}

impl Cache {
  pub(crate) const EXACT: Self = Self { kind: KvCacheType::F32, flash: false, rotated: true };
  pub(crate) const PLAIN: Self = Self { kind: KvCacheType::F16, flash: false, rotated: true };
  pub(crate) const FLASH: Self = Self { kind: KvCacheType::F16, flash: true, rotated: true };
  pub(crate) const QUANTISED: [Self; 4] = [
    Self { kind: KvCacheType::Q8_0, flash: true, rotated: true },
    Self { kind: KvCacheType::Q8_0, flash: true, rotated: false },
    Self { kind: KvCacheType::Q4_0, flash: true, rotated: true },
    Self { kind: KvCacheType::Q4_0, flash: true, rotated: false },
  ];

  pub(crate) fn name(self) -> &'static str {
    match (self.kind, self.rotated) {
      (KvCacheType::Q8_0, true) => "q8_0",
      (KvCacheType::Q8_0, false) => "q8_0, not rotated",
      (KvCacheType::Q4_0, true) => "q4_0",
      (KvCacheType::Q4_0, false) => "q4_0, not rotated",
      (KvCacheType::F32, _) => "f32",
      _ => "f16",
    }
  }
}

pub(crate) fn start(modules: &Path) -> Result<LlamaBackend, Box<dyn Error>> {
  load_backends_from_path(modules);
  let mut backend = LlamaBackend::init()?;
  backend.void_logs();
  Ok(backend)
}

pub(crate) struct Evaluator<'a> {
  backend: &'a LlamaBackend,
  model: LlamaModel,
  tokens: Vec<LlamaToken>,
}

impl<'a> Evaluator<'a> {
  pub(crate) fn load(backend: &'a LlamaBackend, path: &Path, text: &str) -> Result<Self, Box<dyn Error>> {
    let model = LlamaModel::load_from_file(backend, path, &LlamaModelParams::default())?;
    let tokens = model.vocab().tokenize(text.as_bytes(), true, false);
    Ok(Self { backend, model, tokens })
  }

  /// Logits of the last `positions` of the first `tokens` tokens of the text.
  pub(crate) fn logits(
    &self,
    cache: Cache,
    tokens: usize,
    positions: usize,
  ) -> Result<Vec<Vec<f32>>, Box<dyn Error>> {
    let text = self.tokens.get(..tokens).ok_or("the text is too short")?;
    // SAFETY: this program has one thread that touches the environment.
    unsafe { std::env::set_var(ROTATION_SWITCH, if cache.rotated { "0" } else { "1" }) };
    let length = u32::try_from(tokens)?;
    let flash =
      if cache.flash { sys::LLAMA_FLASH_ATTN_TYPE_ENABLED } else { sys::LLAMA_FLASH_ATTN_TYPE_DISABLED };
    let params = LlamaContextParams::default()
      .with_n_ctx(NonZeroU32::new(length))
      .with_n_batch(length)
      .with_n_ubatch(length)
      .with_n_threads(2)
      .with_n_threads_batch(2)
      .with_type_k(cache.kind)
      .with_type_v(cache.kind)
      .with_flash_attention_policy(flash);
    let mut context = self.model.new_context(self.backend, params)?;
    let mut batch = LlamaBatch::new(tokens, 1);
    let scored = tokens - positions.min(tokens)..tokens;
    for (i, token) in text.iter().enumerate() {
      batch.add(*token, i32::try_from(i)?, &[0], scored.contains(&i))?;
    }
    context.decode(&mut batch)?;
    scored.map(|i| Ok(context.get_logits_ith(i32::try_from(i)?).to_vec())).collect()
  }
}
