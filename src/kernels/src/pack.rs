//! Codes to and from bytes.

/// Codes of three bits, the first in the lowest bits; eight fill three bytes.
pub(crate) fn pack_threes(codes: &[u8], bytes: &mut [u8]) {
  for (group, out) in codes.chunks_exact(8).zip(bytes.chunks_exact_mut(3)) {
    let word = group.iter().rev().fold(0u32, |word, code| word << 3 | u32::from(*code));
    out.copy_from_slice(&word.to_le_bytes()[..3]);
  }
}

/// The inverse of [`pack_threes`].
pub(crate) fn unpack_threes(bytes: &[u8], codes: &mut [u8]) {
  for (group, out) in bytes.chunks_exact(3).zip(codes.chunks_exact_mut(8)) {
    let word = u32::from(group[0]) | u32::from(group[1]) << 8 | u32::from(group[2]) << 16;
    for (i, code) in (0..).zip(out) {
      *code = (word >> (3 * i)).to_le_bytes()[0] & 7;
    }
  }
}

/// Two codes of four bits in a byte: the low half is an even element, the high half the odd one after it.
pub(crate) fn pack_pairs(codes: &[u8], bytes: &mut [u8]) {
  for (pair, out) in codes.chunks_exact(2).zip(bytes) {
    *out = pair[0] | pair[1] << 4;
  }
}

/// The inverse of [`pack_pairs`].
pub(crate) fn unpack_pairs(bytes: &[u8], codes: &mut [u8]) {
  for (byte, out) in bytes.iter().zip(codes.chunks_exact_mut(2)) {
    (out[0], out[1]) = (byte & 15, byte >> 4);
  }
}

/// Two codes of four bits in a byte: the low halves are the first half of the elements, the high halves the second.
pub(crate) fn pack_halves(codes: &[u8], bytes: &mut [u8]) {
  let (low, high) = codes.split_at(codes.len() / 2);
  for ((out, low), high) in bytes.iter_mut().zip(low).zip(high) {
    *out = low | high << 4;
  }
}

/// The inverse of [`pack_halves`].
pub(crate) fn unpack_halves(bytes: &[u8], codes: &mut [u8]) {
  let half = codes.len() / 2;
  let (low, high) = codes.split_at_mut(half);
  for ((byte, low), high) in bytes.iter().zip(low).zip(high) {
    (*low, *high) = (byte & 15, byte >> 4);
  }
}

#[cfg(test)]
mod tests {
  use super::*;

  #[test]
  fn three_bit_codes_lie_lowest_first() {
    let mut bytes = [0; 3];
    pack_threes(&[1, 0, 0, 0, 0, 0, 0, 7], &mut bytes);
    assert_eq!(bytes, [1, 0, 0b1110_0000]);
    pack_threes(&[0, 0, 5, 0, 0, 0, 0, 0], &mut bytes);
    assert_eq!(bytes, [0b0100_0000, 1, 0]);
  }

  #[test]
  fn pairs_alternate_and_halves_do_not() {
    let codes = [1, 2, 3, 4];
    let mut bytes = [0; 2];
    pack_pairs(&codes, &mut bytes);
    assert_eq!(bytes, [0x21, 0x43]);
    pack_halves(&codes, &mut bytes);
    assert_eq!(bytes, [0x31, 0x42]);
  }

  #[test]
  fn what_was_packed_comes_out_again() {
    let threes: Vec<u8> = (0..64u8).map(|i| i.wrapping_mul(5) % 8).collect();
    let fours: Vec<u8> = (0..64u8).map(|i| i.wrapping_mul(7) % 16).collect();
    let mut out = vec![0; 64];
    let mut bytes = vec![0; 32];
    pack_threes(&threes, &mut bytes[..24]);
    unpack_threes(&bytes[..24], &mut out);
    assert_eq!(out, threes);
    pack_pairs(&fours, &mut bytes);
    unpack_pairs(&bytes, &mut out);
    assert_eq!(out, fours);
    pack_halves(&fours, &mut bytes);
    unpack_halves(&bytes, &mut out);
    assert_eq!(out, fours);
  }
}
