use crate::error::{KernelError, exactly, multiple_of};
use crate::format::Format;
use crate::simd::InstructionSet;

/// Encoded rows of equal length, checked: whole blocks with finite scales. Borrowed bytes, so that a cache or a mapped file
/// can be read where it lies.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
  format: Format,
  elements: usize,
  bytes: &'a [u8],
}

impl<'a> Rows<'a> {
  /// `elements`: of one row, a multiple of the format's block.
  ///
  /// # Errors
  /// `LENGTH` if `bytes` are not whole rows, `DAMAGED` if a scale is NaN or infinite.
  pub fn new(format: Format, elements: usize, bytes: &'a [u8]) -> Result<Self, KernelError> {
    multiple_of("elements of a row", elements, format.block_elements())?;
    let row_bytes = elements / format.block_elements() * format.block_bytes();
    multiple_of("bytes of the rows", bytes.len(), row_bytes)?;
    let damaged = bytes.chunks_exact(format.block_bytes()).position(|block| !format.is_sound(block));
    match damaged {
      Some(block) => Err(KernelError::Damaged { block }),
      None => Ok(Self { format, elements, bytes }),
    }
  }

  /// The format.
  pub fn format(&self) -> Format {
    self.format
  }

  /// Elements of one row.
  pub fn elements(&self) -> usize {
    self.elements
  }

  /// How many rows there are.
  pub fn count(&self) -> usize {
    self.bytes.len() / self.row_bytes()
  }

  fn row_bytes(&self) -> usize {
    self.elements / self.format.block_elements() * self.format.block_bytes()
  }

  fn blocks(&self, row: usize) -> std::slice::ChunksExact<'a, u8> {
    let size = self.row_bytes();
    self.bytes[row * size..(row + 1) * size].chunks_exact(self.format.block_bytes())
  }

  /// The dot product of row `row` with a query.
  ///
  /// # Panics
  /// If there is no such row, or if the query is of another format or length.
  pub fn score(&self, isa: InstructionSet, row: usize, query: &Query) -> f32 {
    assert!(query.format == self.format && query.elements == self.elements, "the query is for other rows");
    let basis = query.basis.chunks_exact(self.format.basis_values());
    self.blocks(row).zip(basis).map(|(block, basis)| self.format.score(isa, block, basis)).sum()
  }

  /// `sum += weight * row`, in the basis of the codes.
  pub(crate) fn add(&self, isa: InstructionSet, sum: &mut [f32], row: usize, weight: f32) {
    let sums = sum.chunks_exact_mut(self.format.basis_values());
    for (block, sum) in self.blocks(row).zip(sums) {
      self.format.add(isa, sum, block, weight);
    }
  }

  /// Takes a sum of [`Self::add`] back to the elements.
  pub(crate) fn leave_basis(&self, isa: InstructionSet, sum: &mut [f32], values: &mut [f32]) {
    let values = values.chunks_exact_mut(self.format.block_elements());
    for (sum, values) in sum.chunks_exact_mut(self.format.basis_values()).zip(values) {
      self.format.leave_basis(isa, sum, values);
    }
  }

  /// Values of a sum in the basis of the codes, for one row.
  pub(crate) fn basis_len(&self) -> usize {
    self.elements / self.format.block_elements() * self.format.basis_values()
  }

  /// Decodes row `row`.
  ///
  /// # Errors
  /// `LENGTH` if `values` is not one row.
  ///
  /// # Panics
  /// If there is no such row.
  pub fn decode(&self, isa: InstructionSet, row: usize, values: &mut [f32]) -> Result<(), KernelError> {
    exactly("values of a row", values.len(), self.elements)?;
    let mut sum = vec![0.0; self.basis_len()];
    self.add(isa, &mut sum, row, 1.0);
    self.leave_basis(isa, &mut sum, values);
    Ok(())
  }
}

/// Encodes `values`: whole blocks, one after the other.
///
/// # Errors
/// `LENGTH`, `NOT_FINITE` for a NaN or an infinity, `TOO_LARGE` if a block's scale does not fit its 16 bits.
pub fn encode(format: Format, values: &[f32]) -> Result<Vec<u8>, KernelError> {
  multiple_of("values", values.len(), format.block_elements())?;
  if let Some(index) = values.iter().position(|value| !value.is_finite()) {
    return Err(KernelError::NotFinite { index });
  }
  let mut bytes = vec![0; values.len() / format.block_elements() * format.block_bytes()];
  let blocks = values.chunks_exact(format.block_elements()).zip(bytes.chunks_exact_mut(format.block_bytes()));
  for (block, (values, out)) in blocks.enumerate() {
    let values: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
    format.encode(&values, out).map_err(|_| KernelError::TooLarge { block })?;
  }
  Ok(bytes)
}

/// A query in the basis of a format's codes: rotated once, then compared with many rows.
#[derive(Debug, Clone)]
pub struct Query {
  format: Format,
  elements: usize,
  basis: Vec<f32>,
}

impl Query {
  /// # Errors
  /// `LENGTH` if `values` are not whole blocks of the format.
  pub fn new(format: Format, isa: InstructionSet, values: &[f32]) -> Result<Self, KernelError> {
    multiple_of("values of a query", values.len(), format.block_elements())?;
    let blocks = values.len() / format.block_elements();
    let mut basis = vec![0.0; blocks * format.basis_values()];
    let to = basis.chunks_exact_mut(format.basis_values());
    for (from, to) in values.chunks_exact(format.block_elements()).zip(to) {
      format.enter_basis(isa, from, to);
    }
    Ok(Self { format, elements: values.len(), basis })
  }
  /// A query that the caller has taken to the basis of the codes already.
  ///
  /// # Errors
  /// `LENGTH` if `basis` is not what rows of `elements` elements need.
  pub fn pre_rotated(format: Format, elements: usize, basis: Vec<f32>) -> Result<Self, KernelError> {
    multiple_of("values of a query", elements, format.block_elements())?;
    exactly("values of a query", basis.len(), elements / format.block_elements() * format.basis_values())?;
    Ok(Self { format, elements, basis })
  }
}
