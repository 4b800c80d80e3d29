use crate::error::{KernelError, exactly};
use crate::format::Format;
use crate::rows::{Query, Rows};
use crate::simd::InstructionSet;

/// The keys and values of one layer: for each key-value head, one row a token.
#[derive(Debug, Clone, Copy)]
pub struct KeyValues<'a> {
  keys: Rows<'a>,
  values: Rows<'a>,
  heads: usize,
  tokens: usize,
}

/// The query heads of one token.
#[derive(Debug, Clone, Copy)]
pub struct Heads<'a> {
  /// One row of `head length` values for each head; a multiple of the key-value heads.
  pub queries: &'a [f32],
  /// How many tokens, from the first on, the token sees: 1 to all.
  pub visible: usize,
  /// What scores are multiplied with before the softmax, usually 1/sqrt(head length).
  pub scale: f32,
}

impl<'a> KeyValues<'a> {
  /// Row `head * tokens + token` of `keys` and of `values` belongs to that head and token.
  ///
  /// # Errors
  /// `SHAPE` if keys and values are not equally many rows of equal length, or not whole heads, or if the values are in QJL, whose
  /// sum would be of signs and not of values.
  pub fn new(keys: Rows<'a>, values: Rows<'a>, heads: usize) -> Result<Self, KernelError> {
    let shape = |text: String| Err(KernelError::Shape(text));
    if keys.elements() != values.elements() {
      return shape(format!("keys of {} elements and values of {}", keys.elements(), values.elements()));
    }
    if keys.count() != values.count() {
      return shape(format!("{} rows of keys and {} of values", keys.count(), values.count()));
    }
    if heads == 0 || !keys.count().is_multiple_of(heads) {
      return shape(format!("{} rows are not {heads} whole heads", keys.count()));
    }
    if values.format() == Format::Qjl1_256 {
      return shape("values cannot be in QJL1_256: choose a format that decodes".to_owned());
    }
    Ok(Self { keys, values, heads, tokens: keys.count() / heads })
  }

  /// Attention of every head in one pass over the keys and values, with an online softmax (Milakov, Gimelshein, arXiv
  /// 1805.02867). Values are summed in the basis of their codes and rotated back once a head.
  ///
  /// `threads` share the heads; every number gives the same bits. Returns one row for each head.
  ///
  /// # Errors
  /// `LENGTH` or `SHAPE` if the heads do not fit the keys and values, `OVERFLOW` if a score is too large for f32.
  pub fn fused(
    &self,
    isa: InstructionSet,
    heads: &Heads<'_>,
    threads: usize,
  ) -> Result<Vec<f32>, KernelError> {
    let queries = self.prepare(isa, heads)?;
    let length = self.keys.elements();
    let mut out = vec![0.0; heads.queries.len()];
    let each = queries.len().div_ceil(threads.clamp(1, queries.len()));
    std::thread::scope(|scope| {
      let shares = queries.chunks(each).zip(out.chunks_mut(each * length)).enumerate();
      for (share, (queries, out)) in shares {
        let mut work = move || {
          for (i, (query, out)) in queries.iter().zip(out.chunks_exact_mut(length)).enumerate() {
            self.fused_head(isa, heads, (share * each + i) / self.group(heads), query, out);
          }
        };
        if threads > 1 {
          scope.spawn(work);
        } else {
          work();
        }
      }
    });
    match out.iter().position(|value| !value.is_finite()) {
      Some(at) => Err(KernelError::Overflow { head: at / length }),
      None => Ok(out),
    }
  }

  /// Query heads for each key-value head.
  fn group(&self, heads: &Heads<'_>) -> usize {
    heads.queries.len() / self.keys.elements() / self.heads
  }

  fn fused_head(
    &self,
    isa: InstructionSet,
    heads: &Heads<'_>,
    kv_head: usize,
    query: &Query,
    out: &mut [f32],
  ) {
    let first = kv_head * self.tokens;
    let mut sum = vec![0.0; self.values.basis_len()];
    let (mut largest, mut total) = (f32::NEG_INFINITY, 0.0_f32);
    for row in first..first + heads.visible {
      let score = self.keys.score(isa, row, query) * heads.scale;
      if score > largest {
        let shrink = (largest - score).exp();
        isa.scale(&mut sum, shrink);
        total *= shrink;
        largest = score;
      }
      let weight = (score - largest).exp();
      total += weight;
      self.values.add(isa, &mut sum, row, weight);
    }
    isa.scale(&mut sum, 1.0 / total);
    self.values.leave_basis(isa, &mut sum, out);
  }

  /// The same in the obvious steps and in f64: all scores, softmax, decode, mix. What [`Self::fused`] is measured against.
  ///
  /// # Errors
  /// As [`Self::fused`].
  pub fn unfused(&self, heads: &Heads<'_>) -> Result<Vec<f64>, KernelError> {
    let queries = self.prepare(InstructionSet::PORTABLE, heads)?;
    let group = self.group(heads);
    let mut out = Vec::with_capacity(heads.queries.len());
    for (head, query) in queries.iter().enumerate() {
      out.extend(self.unfused_head(heads, head / group, query)?);
    }
    Ok(out)
  }

  fn unfused_head(&self, heads: &Heads<'_>, kv_head: usize, query: &Query) -> Result<Vec<f64>, KernelError> {
    let rows = kv_head * self.tokens..kv_head * self.tokens + heads.visible;
    let scores: Vec<f64> = rows
      .clone()
      .map(|row| f64::from(self.keys.score(InstructionSet::PORTABLE, row, query)) * f64::from(heads.scale))
      .collect();
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = scores.iter().map(|score| (score - largest).exp()).sum();
    let mut mixed = vec![0.0; self.values.elements()];
    let mut decoded = vec![0.0; self.values.elements()];
    for (row, score) in rows.zip(scores) {
      self.values.decode(InstructionSet::PORTABLE, row, &mut decoded)?;
      let weight = (score - largest).exp() / total;
      for (to, value) in mixed.iter_mut().zip(&decoded) {
        *to += weight * f64::from(*value);
      }
    }
    Ok(mixed)
  }

  fn prepare(&self, isa: InstructionSet, heads: &Heads<'_>) -> Result<Vec<Query>, KernelError> {
    let length = self.keys.elements();
    let count = heads.queries.len() / length;
    exactly("values of the queries", heads.queries.len(), count * length)?;
    if count == 0 || !count.is_multiple_of(self.heads) {
      return Err(KernelError::Shape(format!("{count} query heads over {} key-value heads", self.heads)));
    }
    if heads.visible == 0 || heads.visible > self.tokens {
      return Err(KernelError::Shape(format!("{} visible of {} tokens", heads.visible, self.tokens)));
    }
    if !heads.scale.is_finite() || heads.queries.iter().any(|value| !value.is_finite()) {
      return Err(KernelError::Shape("queries and scale must be finite".to_owned()));
    }
    heads.queries.chunks_exact(length).map(|values| Query::new(self.keys.format(), isa, values)).collect()
  }
}
