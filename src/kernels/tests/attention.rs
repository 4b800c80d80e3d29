//! What attention refuses, and cases whose answer is known without a second implementation.

use local_inference_kernels::{
  Format, Heads, InstructionSet, KernelError, KeyValues, Rows, Xorshift32, encode,
};

const LENGTH: usize = 128;

struct Cache {
  keys: Vec<u8>,
  values: Vec<u8>,
}

fn cache(rows: usize) -> Cache {
  let mut random = Xorshift32::new(9);
  Cache {
    keys: encode(Format::Qjl1_256, &random.near_gaussians(rows * LENGTH)).expect("finite values"),
    values: encode(Format::Tbq3_0, &random.near_gaussians(rows * LENGTH)).expect("finite values"),
  }
}

impl Cache {
  fn open(&self, heads: usize) -> Result<KeyValues<'_>, KernelError> {
    let keys = Rows::new(Format::Qjl1_256, LENGTH, &self.keys)?;
    KeyValues::new(keys, Rows::new(Format::Tbq3_0, LENGTH, &self.values)?, heads)
  }
}

fn code<T>(result: Result<T, KernelError>) -> Option<&'static str> {
  result.err().map(|error| error.code())
}

#[test]
fn one_visible_token_is_the_answer_whatever_is_asked() {
  let cache = cache(8);
  let queries = Xorshift32::new(3).near_gaussians(LENGTH);
  let heads = Heads { queries: &queries, visible: 1, scale: 0.1 };
  let mixed =
    cache.open(1).and_then(|cache| cache.fused(InstructionSet::best(), &heads, 1)).expect("a sound shape");
  let mut first = vec![0.0; LENGTH];
  let rows = Rows::new(Format::Tbq3_0, LENGTH, &cache.values).expect("what was just encoded");
  rows.decode(InstructionSet::best(), 0, &mut first).expect("one row");
  assert_eq!(mixed, first);
}

#[test]
fn equal_scores_mix_equal_shares() {
  let cache = cache(8);
  let queries = Xorshift32::new(3).near_gaussians(LENGTH);
  let heads = Heads { queries: &queries, visible: 8, scale: 0.0 };
  let mixed =
    cache.open(1).and_then(|cache| cache.fused(InstructionSet::best(), &heads, 1)).expect("a sound shape");
  let rows = Rows::new(Format::Tbq3_0, LENGTH, &cache.values).expect("what was just encoded");
  let mut mean = [0.0_f32; LENGTH];
  let mut decoded = vec![0.0; LENGTH];
  for row in 0..8 {
    rows.decode(InstructionSet::best(), row, &mut decoded).expect("one row");
    mean.iter_mut().zip(&decoded).for_each(|(mean, value)| *mean += value / 8.0);
  }
  for (mixed, mean) in mixed.iter().zip(mean) {
    assert!((mixed - mean).abs() < 1e-5);
  }
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
  let cache = cache(6);
  assert_eq!(code(cache.open(4)), Some("SHAPE"));
  assert_eq!(code(cache.open(0)), Some("SHAPE"));
  let key_values = cache.open(2).expect("two heads of three tokens");
  let queries = vec![1.0; 3 * LENGTH];
  let attend = |queries: &[f32], visible, scale| {
    code(key_values.fused(InstructionSet::best(), &Heads { queries, visible, scale }, 1))
  };
  assert_eq!(attend(&queries, 1, 1.0), Some("SHAPE"), "three query heads over two");
  assert_eq!(attend(&queries[..=LENGTH], 1, 1.0), Some("LENGTH"));
  assert_eq!(attend(&[], 1, 1.0), Some("SHAPE"));
  assert_eq!(attend(&queries[..2 * LENGTH], 0, 1.0), Some("SHAPE"));
  assert_eq!(attend(&queries[..2 * LENGTH], 4, 1.0), Some("SHAPE"));
  assert_eq!(attend(&queries[..2 * LENGTH], 3, f32::NAN), Some("SHAPE"));
  assert_eq!(attend(&[f32::NAN; 2 * LENGTH], 3, 1.0), Some("SHAPE"));
  assert_eq!(attend(&queries[..2 * LENGTH], 3, 1.0), None);
}

#[test]
fn values_in_signs_are_refused() {
  let cache = cache(4);
  let keys = Rows::new(Format::Qjl1_256, LENGTH, &cache.keys).expect("what was just encoded");
  assert_eq!(code(KeyValues::new(keys, keys, 1)), Some("SHAPE"));
}

#[test]
fn scores_beyond_f32_are_an_error_and_no_answer() {
  let mut cache = cache(2);
  for key in cache.keys.chunks_exact_mut(34) {
    // The largest norm in bf16.
    key[32..].copy_from_slice(&[0x7F, 0x7F]);
  }
  let queries = vec![1e6; LENGTH];
  let heads = Heads { queries: &queries, visible: 2, scale: 1.0 };
  let result = cache.open(1).and_then(|cache| cache.fused(InstructionSet::best(), &heads, 1));
  assert_eq!(code(result), Some("OVERFLOW"));
}
