//! A fast 128-bit digest that tells whether bytes are the same. It guards against accidents, not against an attacker.

const FACTORS: [u64; 4] =
  [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f, 0x1656_67b1_9e37_79f9, 0xff51_afd7_ed55_8ccd];
const BLOCK: usize = 32;

/// Takes bytes in any portions.
///
/// Each step of a lane (xor, multiplication by an odd number, xor with its own high bits) can be undone, so a change within one 8-byte word
/// always changes the result.
#[derive(Debug, Clone)]
pub struct Digest {
  lanes: [u64; 4],
  rest: Vec<u8>,
  length: u64,
}

impl Default for Digest {
  fn default() -> Self {
    Self { lanes: FACTORS, rest: Vec::with_capacity(BLOCK), length: 0 }
  }
}

impl Digest {
  /// The digest of one piece.
  pub fn of(bytes: &[u8]) -> [u64; 2] {
    let mut digest = Self::default();
    digest.update(bytes);
    digest.finish()
  }

  /// Adds bytes.
  pub fn update(&mut self, mut bytes: &[u8]) {
    self.length += bytes.len() as u64;
    if !self.rest.is_empty() {
      let missing = (BLOCK - self.rest.len()).min(bytes.len());
      self.rest.extend_from_slice(&bytes[..missing]);
      bytes = &bytes[missing..];
      if self.rest.len() < BLOCK {
        return;
      }
      let block = std::mem::take(&mut self.rest);
      self.absorb(&block);
    }
    let whole = bytes.len() / BLOCK * BLOCK;
    self.absorb(&bytes[..whole]);
    self.rest.extend_from_slice(&bytes[whole..]);
  }

  /// Adds bytes and their number, so that borders between pieces count.
  pub fn piece(&mut self, bytes: &[u8]) {
    self.update(&(bytes.len() as u64).to_le_bytes());
    self.update(bytes);
  }

  /// The digest of everything that was added.
  pub fn finish(mut self) -> [u64; 2] {
    let mut last = std::mem::take(&mut self.rest);
    last.resize(BLOCK, 0);
    self.absorb(&last);
    let mixed = |first: usize, seed: u64| {
      (0..4).fold(seed ^ self.length, |sum, index| {
        mix(sum ^ self.lanes[(first + index) % 4].rotate_left(u32::try_from(first).unwrap_or(0)))
      })
    };
    [mixed(0, FACTORS[0]), mixed(1, FACTORS[1])]
  }

  fn absorb(&mut self, blocks: &[u8]) {
    for block in blocks.as_chunks::<BLOCK>().0 {
      for (lane, word) in self.lanes.iter_mut().zip(block.as_chunks::<8>().0) {
        let product = (*lane ^ u64::from_le_bytes(*word)).wrapping_mul(FACTORS[0]);
        // The high bits of a product reach no others without this.
        *lane = product ^ (product >> 29);
      }
    }
  }
}

/// The finaliser of `MurmurHash3` (Appleby, public domain).
const fn mix(mut value: u64) -> u64 {
  value ^= value >> 33;
  value = value.wrapping_mul(0xff51_afd7_ed55_8ccd);
  value ^= value >> 33;
  value = value.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
  value ^ (value >> 33)
}

/// A digest as 32 hexadecimal digits.
pub fn hex(digest: [u64; 2]) -> String {
  format!("{:016x}{:016x}", digest[0], digest[1])
}

#[cfg(test)]
mod tests {
  use super::*;

  #[test]
  fn portions_do_not_matter() {
    let bytes: Vec<u8> = (0..200_u8).collect();
    for cut in 0..bytes.len() {
      let mut digest = Digest::default();
      digest.update(&bytes[..cut]);
      digest.update(&bytes[cut..]);
      assert_eq!(digest.finish(), Digest::of(&bytes));
    }
  }

  #[test]
  fn every_changed_bit_and_every_length_counts() {
    let bytes = vec![0_u8; 100];
    let mut seen = std::collections::HashSet::from([Digest::of(&bytes)]);
    for bit in 0..800 {
      let mut changed = bytes.clone();
      changed[bit / 8] ^= 1 << (bit % 8);
      assert!(seen.insert(Digest::of(&changed)), "bit {bit}");
    }
    for length in 0..100 {
      assert!(seen.insert(Digest::of(&bytes[..length])), "length {length}");
    }
  }

  #[test]
  fn borders_of_pieces_count() {
    let of = |pieces: [&[u8]; 2]| {
      let mut digest = Digest::default();
      for piece in pieces {
        digest.piece(piece);
      }
      digest.finish()
    };
    assert_ne!(of([b"ab", b"c"]), of([b"a", b"bc"]));
  }
}
