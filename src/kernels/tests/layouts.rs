//! Sizes and places of what a block holds.

use half::{bf16, f16};
use local_inference_kernels::{Format, InstructionSet, KernelError, Rows, encode};

#[test]
fn blocks_have_the_published_sizes() {
  let sizes = Format::ALL.map(|format| (format.name(), format.block_elements(), format.block_bytes()));
  let published = [
    ("TBQ3_0", 32, 14),
    ("TBQ4_0", 32, 18),
    ("TBQ3_K", 256, 98),
    ("TBQ4_K", 256, 130),
    ("TBQ3_TCQ", 128, 52),
    ("QJL1_256", 128, 34),
    ("Q4_POLAR", 128, 82),
    ("Q4_POLAR+residual", 128, 82),
  ];
  assert_eq!(sizes, published);
}

#[test]
fn the_scale_lies_where_the_format_says() {
  let f16_at = |block: &[u8], at: usize| f16::from_le_bytes([block[at], block[at + 1]]).to_f64();
  // Norm 32 of 256 twos, and its parts.
  let block = |format: Format| encode(format, &vec![2.0; format.block_elements()]).expect("finite values");
  assert!((f16_at(&block(Format::Tbq3_0), 0) - 2.0).abs() < 1e-9, "root mean square");
  assert!((f16_at(&block(Format::Tbq4_0), 0) - 2.0).abs() < 1e-9, "root mean square");
  assert!((f16_at(&block(Format::Tbq3K), 96) - 32.0).abs() < 1e-9, "norm");
  assert!((f16_at(&block(Format::Tbq4K), 128) - 32.0).abs() < 1e-9, "norm");
  let norm_of_128 = 2.0 * f64::sqrt(128.0);
  assert!((f16_at(&block(Format::Q4Polar), 0) - norm_of_128).abs() < 1e-2, "norm");
  let qjl = block(Format::Qjl1_256);
  assert!((bf16::from_le_bytes([qjl[32], qjl[33]]).to_f64() - norm_of_128).abs() < 0.1, "norm");
}

#[test]
fn a_trellis_block_decodes_to_the_length_of_what_was_encoded() {
  let values: Vec<f32> = (0..128_u8).map(|i| f32::from(i) - 50.0).collect();
  let bytes = encode(Format::Tbq3Tcq, &values).expect("finite values");
  let mut decoded = vec![0.0; 128];
  let rows = Rows::new(Format::Tbq3Tcq, 128, &bytes).expect("what was just encoded");
  rows.decode(InstructionSet::PORTABLE, 0, &mut decoded).expect("one row");
  let norm = |values: &[f32]| values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
  // The scale has eleven bits.
  assert!((norm(&decoded) / norm(&values) - 1.0).abs() < 1.0 / 2048.0);
}

#[test]
fn the_unused_bytes_of_a_block_are_zero() {
  let values: Vec<f32> = (0..128_u8).map(|i| f32::from(i).sin()).collect();
  let block = |format| encode(format, &values).expect("finite values");
  assert_eq!(block(Format::Tbq3Tcq)[51], 0);
  assert_eq!(block(Format::Tbq3Tcq)[50] & 0b1100_0000, 0);
  assert_eq!(block(Format::Q4Polar)[66..], [0; 16]);
  assert_eq!(block(Format::Q4PolarResidual)[67..], [0; 15]);
}

#[test]
fn rows_that_are_not_whole_are_refused() {
  let code = |result: Result<Rows<'_>, KernelError>| result.map(|_| ()).map_err(|error| error.code());
  assert_eq!(code(Rows::new(Format::Tbq3_0, 33, &[0; 14])), Err("LENGTH"));
  assert_eq!(code(Rows::new(Format::Tbq3_0, 0, &[])), Err("LENGTH"));
  assert_eq!(code(Rows::new(Format::Tbq3_0, 64, &[0; 14])), Err("LENGTH"));
  assert_eq!(code(Rows::new(Format::Tbq3_0, 32, &[0; 28])), Ok(()));
  let mut damaged = [0; 28];
  damaged[15] = 0x7C;
  assert_eq!(Rows::new(Format::Tbq3_0, 32, &damaged).map(|_| ()), Err(KernelError::Damaged { block: 1 }));
}
