//! What the reader says about files that are not well formed.

mod gguf_writer;

use gguf_writer::{Writer, llama, parse};
use local_inference_core::error::ErrorCode;
use local_inference_core::gguf::{Value, ValueType};

/// The message of the refusal, which must have `code`.
#[track_caller]
fn refusal(bytes: &[u8], code: ErrorCode) -> String {
  let error = parse(bytes).expect_err("the file must be refused");
  assert_eq!(error.code(), code, "{error}");
  error.to_string()
}

#[track_caller]
fn invalid(bytes: &[u8], says: &str) {
  let message = refusal(bytes, ErrorCode::ModelInvalid);
  assert!(message.contains(says), "{message:?} does not say {says:?}");
}

#[test]
fn a_sound_file_reads_back() {
  let file = parse(&llama().bytes()).unwrap();
  assert_eq!((file.version, file.alignment), (3, 32));
  assert_eq!(file.metadata.get_str("general.architecture"), Some("llama"));
  assert_eq!(file.metadata.get_u32("llama.context_length"), Some(512));
  assert_eq!(file.tensors.len(), 2);
  assert_eq!(file.tensors[0].dimensions, [64, 8]);
  assert_eq!(file.tensors[0].bytes, 64 * 8 / 32 * 34);
  assert_eq!(file.tensors[1].offset, 544);
  assert_eq!(file.data_offset % 32, 0);
}

#[test]
fn values_of_every_type_read_back() {
  let file = Writer::new()
    .raw("u8", 0, &[200])
    .raw("i8", 1, &[0xff])
    .raw("u16", 2, &[1, 2])
    .raw("i16", 3, &[0xfe, 0xff])
    .raw("u32", 4, &[1, 0, 0, 0])
    .raw("i32", 5, &[0xfd, 0xff, 0xff, 0xff])
    .raw("f32", 6, &1.5f32.to_le_bytes())
    .flag("bool", true)
    .str("text", "häl\u{2581}lo")
    .raw("u64", 10, &u64::MAX.to_le_bytes())
    .raw("i64", 11, &i64::MIN.to_le_bytes())
    .raw("f64", 12, &2.5f64.to_le_bytes())
    .i32s("list", &[1, 2, 3]);
  let metadata = parse(&file.bytes()).unwrap().metadata;
  assert_eq!(metadata.get("u8"), Some(&Value::Unsigned(ValueType::U8, 200)));
  assert_eq!(metadata.get("i8"), Some(&Value::Signed(ValueType::I8, -1)));
  assert_eq!(metadata.get_u64("u16"), Some(513));
  assert_eq!(metadata.get("i16"), Some(&Value::Signed(ValueType::I16, -2)));
  assert_eq!(metadata.get_u32("i32"), None);
  assert_eq!(metadata.get_f64("f32"), Some(1.5));
  assert_eq!(metadata.get_bool("bool"), Some(true));
  assert_eq!(metadata.get_str("text"), Some("häl\u{2581}lo"));
  assert_eq!(metadata.get("u64"), Some(&Value::Unsigned(ValueType::U64, u64::MAX)));
  assert_eq!(metadata.get("i64"), Some(&Value::Signed(ValueType::I64, i64::MIN)));
  assert_eq!(metadata.get_f64("f64"), Some(2.5));
  assert_eq!(metadata.get_array("list").unwrap().unsigned(), Some(vec![1, 2, 3]));
  assert_eq!(metadata.keys().count(), 13);
}

#[test]
fn bytes_that_are_not_text_do_not_stop_the_reader() {
  let file = Writer::new().raw("text", 8, &[3, 0, 0, 0, 0, 0, 0, 0, b'a', 0xff, b'b']);
  assert_eq!(parse(&file.bytes()).unwrap().metadata.get_str("text"), Some("a\u{fffd}b"));
}

#[test]
fn a_file_of_another_kind_is_named() {
  let cases: [(&[u8], &str); 12] = [
    (b"", "empty"),
    (b"GG", "damaged or incomplete"),
    (b"<!DOCTYPE html><html>", "web page"),
    (b"\n  <html><head>", "web page"),
    (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
    (b"Entry not found", "is text"),
    (b"{\"error\":\"gated\"}", "is text"),
    (b"PK\x03\x04\x14\0\0\0", "PyTorch"),
    (b"FUGG\0\0\0\x03", "byte order"),
    (b"tjgg\x01\0\0\0", "preceded GGUF"),
    (&[0; 64], "zeros"),
    (b"\x7fELF\x02\x01\x01\0\0", "does not start with the letters GGUF"),
  ];
  for (bytes, says) in cases {
    invalid(bytes, says);
  }
  invalid(b"\x40\x01\0\0\0\0\0\0{\"a\":{}}", "safetensors");
}

#[test]
fn versions_other_than_two_and_three_are_refused() {
  let with = |version: u32| {
    let mut bytes = llama().bytes();
    bytes[4..8].copy_from_slice(&version.to_le_bytes());
    bytes
  };
  assert_eq!(parse(&with(2)).unwrap().version, 2);
  invalid(&with(0), "big-endian");
  invalid(&with(1), "version 1");
  invalid(&with(4), "version 4");
  invalid(&with(3u32.swap_bytes()), "big-endian");
}

#[test]
fn counts_beyond_the_file_are_refused() {
  for at in [8, 16] {
    for count in [u64::MAX, 1 << 62, 1 << 40, 100_000] {
      let mut bytes = llama().bytes();
      bytes[at..at + 8].copy_from_slice(&count.to_le_bytes());
      invalid(&bytes, "claimed");
    }
  }
}

#[test]
fn lengths_beyond_the_file_are_refused() {
  let array = |kind: u32, len: u64| Writer::new().array("x", kind, len, &[]).bytes();
  invalid(&Writer::new().raw("x", 8, &u64::MAX.to_le_bytes()).bytes(), "claims a length");
  invalid(&Writer::new().raw("x", 8, &(1u64 << 31).to_le_bytes()).bytes(), "claims a length");
  invalid(&array(4, 1 << 61), "claims 2305843009213693952 elements");
  invalid(&array(4, 1 << 29), "claimed");
  invalid(&array(8, 1 << 29), "claimed");
}

#[test]
fn names_must_be_text_and_unique() {
  let mut bytes = Writer::new().u32("", 1).bytes();
  invalid(&bytes, "empty");
  bytes = Writer::new().u32("a\0b", 1).bytes();
  invalid(&bytes, "NUL");
  invalid(&Writer::new().u32("a", 1).again("a").bytes(), "\"a\" appears twice");
  let long = "x".repeat(64);
  invalid(&Writer::new().tensor(&long, &[1], 0).bytes(), "64 bytes long");
  let mut twice = Writer::new().tensor("aa", &[32], 0).tensor("bb", &[32], 0).bytes();
  let at = twice.windows(2).position(|pair| pair == b"bb").unwrap();
  twice[at..at + 2].copy_from_slice(b"aa");
  invalid(&twice, "listed twice");
}

#[test]
fn unknown_value_types_and_nested_arrays_are_refused() {
  invalid(&Writer::new().raw("x", 13, &[0; 8]).bytes(), "unknown type 13");
  invalid(&Writer::new().array("x", 99, 1, &[0; 8]).bytes(), "unknown type 99");
  invalid(&Writer::new().array("x", 9, 1, &[0; 32]).bytes(), "array of arrays");
}

#[test]
fn alignment_must_be_a_sensible_power_of_two() {
  assert_eq!(parse(&llama().aligned(64).bytes()).unwrap().alignment, 64);
  for alignment in [0, 3, 48, 1 << 30] {
    let bytes = llama().u32("general.alignment", alignment).bytes();
    invalid(&bytes, "general.alignment");
  }
  invalid(&llama().str("general.alignment", "32").bytes(), "general.alignment");
  let unaligned = Writer::new().aligned(8).tensor("a", &[2], 0).tensor("b", &[2], 0);
  invalid(&unaligned.bytes(), "not aligned to 32 bytes");
}

#[test]
fn absurd_dimensions_are_refused() {
  let with = |dimensions: &[u64], kind| Writer::new().tensor("t", dimensions, kind).header();
  invalid(&with(&[1, 1, 1, 1, 1], 0), "5 dimensions");
  invalid(&with(&[32, 0], 0), "empty dimension");
  invalid(&with(&[33], 8), "not a multiple of the 32");
  invalid(&with(&[128, 2], 12), "not a multiple of the 256");
}

#[test]
fn products_that_overflow_are_refused() {
  for dimensions in [[1u64 << 32, 1 << 32], [u64::MAX, 1], [1 << 62, 2], [i64::MAX as u64 - 31, 1]] {
    let mut bytes = Writer::new().tensor("t", &[32, 1], 0).bytes();
    let at = bytes.windows(12).position(|part| part == b"t\x02\0\0\0\x20\0\0\0\0\0\0").unwrap() + 5;
    bytes[at..at + 8].copy_from_slice(&dimensions[0].to_le_bytes());
    bytes[at + 8..at + 16].copy_from_slice(&dimensions[1].to_le_bytes());
    invalid(&bytes, "tensor \"t\"");
  }
}

#[test]
fn unknown_tensor_types_are_unsupported() {
  for kind in [4, 5, 31, 38, 43, 144, u32::MAX] {
    let bytes = Writer::new().tensor("t", &[256], kind).header();
    let message = refusal(&bytes, ErrorCode::ModelUnsupported);
    assert!(message.contains("\"t\"") && message.contains(&kind.to_string()), "{message}");
  }
}

#[test]
fn tensors_must_lie_end_to_end_inside_the_file() {
  let bytes = llama().bytes();
  let mut cut = bytes.clone();
  cut.truncate(bytes.len() - 1);
  invalid(&cut, "but the file has only");
  let offset = bytes.windows(8).position(|part| part == 544u64.to_le_bytes()).unwrap();
  for wrong in [0u64, 512, 576, 545, u64::MAX, u64::MAX - 31] {
    let mut moved = bytes.clone();
    moved[offset..offset + 8].copy_from_slice(&wrong.to_le_bytes());
    invalid(&moved, "is its place");
  }
}

#[test]
fn data_after_the_last_tensor_is_tolerated() {
  let mut bytes = llama().bytes();
  bytes.extend([0; 100]);
  assert!(parse(&bytes).is_ok());
}
