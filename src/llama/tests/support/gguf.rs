//! Rewrites GGUF files: enough of the format to change a value, to find the header's parts and to split a model.
#![allow(dead_code, reason = "each test file uses a part")]

use std::ops::Range;
use std::path::{Path, PathBuf};

const ALIGNMENT: usize = 32;

/// A file taken apart.
pub(crate) struct Parts {
  bytes: Vec<u8>,
  /// Key and where the pair lies.
  pairs: Vec<(String, Range<usize>)>,
  /// Where the description of each tensor lies, and where its data does.
  tensors: Vec<(Range<usize>, Range<usize>)>,
  /// End of the header, before the padding.
  pub(crate) header: usize,
}

struct Cursor<'a> {
  bytes: &'a [u8],
  at: usize,
}

impl Cursor<'_> {
  fn number(&mut self, width: usize) -> usize {
    let mut bytes = [0; 8];
    bytes[..width].copy_from_slice(&self.bytes[self.at..self.at + width]);
    self.at += width;
    usize::try_from(u64::from_le_bytes(bytes)).unwrap()
  }

  fn text(&mut self) -> String {
    let length = self.number(8);
    self.at += length;
    String::from_utf8_lossy(&self.bytes[self.at - length..self.at]).into_owned()
  }

  fn skip_value(&mut self, kind: usize) {
    match kind {
      0 | 1 | 7 => self.at += 1,
      2 | 3 => self.at += 2,
      4..=6 => self.at += 4,
      10..=12 => self.at += 8,
      8 => drop(self.text()),
      9 => {
        let (kind, length) = (self.number(4), self.number(8));
        (0..length).for_each(|_| self.skip_value(kind));
      }
      _ => panic!("value type {kind}"),
    }
  }
}

impl Parts {
  pub(crate) fn read(path: &Path) -> Self {
    let bytes = std::fs::read(path).unwrap();
    let mut cursor = Cursor { bytes: &bytes, at: 8 };
    let (tensor_count, pair_count) = (cursor.number(8), cursor.number(8));
    let mut pairs = Vec::new();
    for _ in 0..pair_count {
      let start = cursor.at;
      let key = cursor.text();
      let kind = cursor.number(4);
      cursor.skip_value(kind);
      pairs.push((key, start..cursor.at));
    }
    let mut described = Vec::new();
    for _ in 0..tensor_count {
      let start = cursor.at;
      cursor.text();
      let dimensions = cursor.number(4);
      cursor.at += dimensions * 8 + 4;
      let offset = cursor.number(8);
      described.push((start..cursor.at, offset));
    }
    let header = cursor.at;
    let data = header.next_multiple_of(ALIGNMENT);
    let end = |offset: usize| described.iter().map(|it| it.1).filter(|it| *it > offset).min();
    let tensors = described
      .iter()
      .map(|(range, offset)| {
        (range.clone(), data + offset..end(*offset).map_or(bytes.len(), |end| data + end))
      })
      .collect();
    Self { bytes, pairs, tensors, header }
  }

  pub(crate) fn bytes(&self) -> &[u8] {
    &self.bytes
  }

  /// Every byte of the header that does not belong to the pair of a long list, such as the vocabulary.
  pub(crate) fn telling_bytes(&self) -> Vec<usize> {
    let pairs =
      self.pairs.iter().filter(|(_, range)| range.len() < 1024).flat_map(|(_, range)| range.clone());
    (0..24).chain(pairs).chain(self.tensors.iter().flat_map(|(range, _)| range.clone())).collect()
  }

  /// The pairs as they are, but for those of `key`.
  fn pairs_without(&self, key: &str) -> Vec<Vec<u8>> {
    self.pairs.iter().filter(|pair| pair.0 != key).map(|pair| self.bytes[pair.1.clone()].to_vec()).collect()
  }

  fn write(&self, path: &Path, pairs: &[Vec<u8>], tensors: Range<usize>) {
    let mut out = b"GGUF\x03\0\0\0".to_vec();
    out.extend((tensors.len() as u64).to_le_bytes());
    out.extend((pairs.len() as u64).to_le_bytes());
    out.extend(pairs.concat());
    let mut data = Vec::new();
    for (described, content) in &self.tensors[tensors] {
      out.extend(&self.bytes[described.start..described.end - 8]);
      out.extend((data.len() as u64).to_le_bytes());
      data.extend(&self.bytes[content.clone()]);
      data.resize(data.len().next_multiple_of(ALIGNMENT), 0);
    }
    out.resize(out.len().next_multiple_of(ALIGNMENT), 0);
    out.extend(data);
    std::fs::write(path, out).unwrap();
  }

  /// Writes the model as one of `architecture` with the same sizes.
  pub(crate) fn write_as(&self, path: &Path, architecture: &str) {
    let old = format!("{}.", self.architecture());
    let renamed = |(key, range): &(String, Range<usize>)| {
      let value = &self.bytes[range.start + 8 + key.len()..range.end];
      match key.strip_prefix(&old) {
        Some(rest) => [&text(&format!("{architecture}.{rest}")), value].concat(),
        None if key == "general.architecture" => {
          [text(key), 8_u32.to_le_bytes().to_vec(), text(architecture)].concat()
        }
        None => self.bytes[range.clone()].to_vec(),
      }
    };
    self.write(path, &self.pairs.iter().map(renamed).collect::<Vec<_>>(), 0..self.tensors.len());
  }

  fn architecture(&self) -> String {
    let range = &self.pairs.iter().find(|pair| pair.0 == "general.architecture").unwrap().1;
    let start = range.start + 8 + "general.architecture".len() + 4;
    Cursor { bytes: &self.bytes, at: start }.text()
  }

  /// Writes the model as `<name>-00001-of-00002.gguf` and its sibling; returns both paths.
  pub(crate) fn write_split(&self, folder: &Path, name: &str) -> [PathBuf; 2] {
    let half = self.tensors.len() / 2;
    let count = i32::try_from(self.tensors.len()).unwrap();
    let place = |number: u16| {
      vec![
        [text("split.no"), 2_u32.to_le_bytes().to_vec(), number.to_le_bytes().to_vec()].concat(),
        [text("split.count"), 2_u32.to_le_bytes().to_vec(), 2_u16.to_le_bytes().to_vec()].concat(),
        [text("split.tensors.count"), 5_u32.to_le_bytes().to_vec(), count.to_le_bytes().to_vec()].concat(),
      ]
    };
    let paths = [1, 2].map(|number| folder.join(format!("{name}-{number:05}-of-00002.gguf")));
    self.write(&paths[0], &[self.pairs_without("split.no"), place(0)].concat(), 0..half);
    self.write(&paths[1], &place(1), half..self.tensors.len());
    paths
  }
}

fn text(value: &str) -> Vec<u8> {
  [&(value.len() as u64).to_le_bytes()[..], value.as_bytes()].concat()
}
