//! Models on disk: paths, kinds of file, models in several parts.

#![allow(clippy::unwrap_used, reason = "a test that cannot build its input fails")]

mod gguf_writer;

use std::fs;
use std::path::{Path, PathBuf};

use gguf_writer::{Writer, llama};
use local_inference_core::error::{EngineError, ErrorCode};
use local_inference_core::gguf::GgufHeader;

/// A directory that is removed afterwards.
struct Directory(PathBuf);

impl Directory {
  fn new(name: &str) -> Self {
    let path = std::env::temp_dir().join(format!("gguf files {}-{name}", std::process::id()));
    fs::create_dir_all(&path).unwrap();
    Self(path)
  }

  fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
    let path = self.0.join(name);
    fs::write(&path, bytes).unwrap();
    path
  }
}

impl Drop for Directory {
  fn drop(&mut self) {
    let _ = fs::remove_dir_all(&self.0);
  }
}

#[track_caller]
fn refused(path: &Path, code: ErrorCode, says: &str) -> EngineError {
  let error = GgufHeader::read(path).expect_err("the path must be refused");
  assert_eq!(error.code(), code, "{error}");
  assert!(error.to_string().contains(says), "{error} does not say {says:?}");
  error
}

/// Three parts of one model: metadata with the first, a tensor in each.
fn parts() -> [Writer; 3] {
  let split =
    |file: Writer, number| file.u16("split.no", number).u16("split.count", 3).i32("split.tensors.count", 4);
  [
    split(llama(), 0),
    split(Writer::new().tensor("blk.0.x", &[64], 0), 1),
    split(Writer::new().tensor("blk.1.x", &[64], 0), 2),
  ]
}

fn write_parts(directory: &Directory, prefix: &str, parts: &[Writer]) -> Vec<PathBuf> {
  let name = |number| format!("{prefix}-{number:05}-of-00003.gguf");
  parts.iter().enumerate().map(|(index, part)| directory.write(&name(index + 1), &part.bytes())).collect()
}

#[test]
fn a_path_with_spaces_and_other_letters_is_read() {
  let directory = Directory::new("mødel ディレクトリ");
  let path = directory.write("my mödel \u{1f999}.gguf", &llama().bytes());
  let header = GgufHeader::read(&path).unwrap();
  assert_eq!(header.path, path);
  assert_eq!(header.files, [path]);
  assert_eq!(header.file_bytes, llama().bytes().len() as u64);
}

#[test]
fn a_missing_file_is_not_found() {
  let directory = Directory::new("missing");
  refused(&directory.0.join("nothing.gguf"), ErrorCode::ModelNotFound, "nothing.gguf");
  let file = directory.write("file", b"x");
  refused(&file.join("below.gguf"), ErrorCode::ModelNotFound, "below.gguf");
  refused(Path::new(""), ErrorCode::ModelNotFound, "no file");
  refused(Path::new("a\0b"), ErrorCode::ModelNotFound, "no file");
}

#[test]
fn what_is_not_a_regular_file_is_refused_without_opening_it() {
  let directory = Directory::new("kinds");
  refused(&directory.0, ErrorCode::ModelInvalid, "directory");
  if cfg!(unix) {
    refused(Path::new("/dev/zero"), ErrorCode::ModelInvalid, "not a regular file");
  }
}

#[test]
fn a_damaged_file_is_named_with_what_to_do() {
  let directory = Directory::new("damaged");
  let bytes = llama().bytes();
  let path = directory.write("half.gguf", &bytes[..bytes.len() / 2]);
  let error = refused(&path, ErrorCode::ModelInvalid, "download it again");
  assert!(error.to_string().starts_with("half.gguf: "), "{error}");
  refused(&directory.write("empty.gguf", b""), ErrorCode::ModelInvalid, "empty");
}

#[test]
fn all_parts_of_a_split_model_count() {
  let directory = Directory::new("split");
  let paths = write_parts(&directory, "big model", &parts());
  let header = GgufHeader::read(&paths[0]).unwrap();
  assert_eq!(header.files, paths);
  assert_eq!(header.tensor_count, 4);
  assert_eq!(header.file_bytes, paths.iter().map(|path| fs::metadata(path).unwrap().len()).sum::<u64>());
}

#[test]
fn a_missing_part_is_named() {
  let directory = Directory::new("gap");
  let paths = write_parts(&directory, "m", &parts());
  fs::remove_file(&paths[1]).unwrap();
  refused(&paths[0], ErrorCode::ModelNotFound, "m-00002-of-00003.gguf");
}

#[test]
fn a_later_part_points_to_the_first() {
  let directory = Directory::new("later");
  let paths = write_parts(&directory, "m", &parts());
  refused(&paths[2], ErrorCode::ModelInvalid, "m-00001-of-00003.gguf");
}

#[test]
fn a_renamed_part_cannot_find_the_others() {
  let directory = Directory::new("renamed");
  let path = directory.write("model.gguf", &parts()[0].bytes());
  refused(&path, ErrorCode::ModelInvalid, "-00001-of-00003.gguf");
}

#[test]
fn parts_that_contradict_each_other_are_refused() {
  let directory = Directory::new("mixed");
  let [first, second, third] = parts();
  let write = |parts: &[Writer]| write_parts(&directory, "m", parts).remove(0);
  let swapped = write(&[first.clone(), third.clone(), second.clone()]);
  refused(&swapped, ErrorCode::ModelInvalid, "not part 2 of 3");
  let short = write(&[first.clone().i32("split.tensors.count", 5), second.clone(), third.clone()]);
  refused(&short, ErrorCode::ModelInvalid, "5 are expected");
  let twice = write(&[first.clone(), second.clone(), third.clone().tensor("blk.0.x", &[64], 0)]);
  refused(&twice, ErrorCode::ModelInvalid, "another part");
  let typed = write(&[first.clone(), second.clone().u32("split.no", 1), third.clone()]);
  refused(&typed, ErrorCode::ModelInvalid, "16-bit");
  let beyond = write(&[first.u16("split.no", 3), second, third]);
  refused(&beyond, ErrorCode::ModelInvalid, "part 4 of 3");
}
