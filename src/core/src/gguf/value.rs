//! Metadata values as GGUF stores them.

/// Type of a metadata value or of the elements of an array, with GGUF's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueType {
  /// Unsigned, 1 byte.
  U8,
  /// Signed, 1 byte.
  I8,
  /// Unsigned, 2 bytes.
  U16,
  /// Signed, 2 bytes.
  I16,
  /// Unsigned, 4 bytes.
  U32,
  /// Signed, 4 bytes.
  I32,
  /// Float, 4 bytes.
  F32,
  /// One byte, zero or not.
  Bool,
  /// Length (8 bytes), then that many bytes.
  String,
  /// Element type, count, elements.
  Array,
  /// Unsigned, 8 bytes.
  U64,
  /// Signed, 8 bytes.
  I64,
  /// Float, 8 bytes.
  F64,
}

impl ValueType {
  const ALL: [Self; 13] = [
    Self::U8,
    Self::I8,
    Self::U16,
    Self::I16,
    Self::U32,
    Self::I32,
    Self::F32,
    Self::Bool,
    Self::String,
    Self::Array,
    Self::U64,
    Self::I64,
    Self::F64,
  ];

  /// The type with this number in a file, if GGUF defines one.
  pub fn from_code(code: u32) -> Option<Self> {
    Self::ALL.get(usize::try_from(code).ok()?).copied()
  }

  /// Bytes of one value; none for strings and arrays, whose size varies.
  pub const fn size(self) -> Option<u64> {
    match self {
      Self::U8 | Self::I8 | Self::Bool => Some(1),
      Self::U16 | Self::I16 => Some(2),
      Self::U32 | Self::I32 | Self::F32 => Some(4),
      Self::U64 | Self::I64 | Self::F64 => Some(8),
      Self::String | Self::Array => None,
    }
  }
}

/// One metadata value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
  /// Any unsigned integer type.
  Unsigned(ValueType, u64),
  /// Any signed integer type.
  Signed(ValueType, i64),
  /// Either float type.
  Float(ValueType, f64),
  /// A boolean.
  Bool(bool),
  /// Text; bytes that are not UTF-8 are replaced.
  String(String),
  /// Text of this many bytes that was too long to keep (an embedded tokenizer file, for example).
  LongString(u64),
  /// An array.
  Array(Array),
}

impl Value {
  /// The type in the file.
  pub const fn kind(&self) -> ValueType {
    match self {
      Self::Unsigned(kind, _) | Self::Signed(kind, _) | Self::Float(kind, _) => *kind,
      Self::Bool(_) => ValueType::Bool,
      Self::String(_) | Self::LongString(_) => ValueType::String,
      Self::Array(_) => ValueType::Array,
    }
  }

  /// The value as a non-negative integer, whatever integer type it has.
  pub fn as_u64(&self) -> Option<u64> {
    match self {
      Self::Unsigned(_, value) => Some(*value),
      Self::Signed(_, value) => u64::try_from(*value).ok(),
      Self::Bool(value) => Some(u64::from(*value)),
      _ => None,
    }
  }

  /// The value as a float, if it is one.
  pub const fn as_f64(&self) -> Option<f64> {
    match self {
      Self::Float(_, value) => Some(*value),
      _ => None,
    }
  }
}

/// An array. Short numeric arrays keep their elements; long ones and strings keep what the checks need.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
  /// Element type.
  pub kind: ValueType,
  /// Number of elements.
  pub len: u64,
  /// What was kept of the elements.
  pub content: ArrayContent,
}

/// What is remembered of an array.
#[derive(Debug, Clone, PartialEq)]
pub enum ArrayContent {
  /// Every element of a short array of integers or booleans.
  Integers(Vec<i64>),
  /// Nothing: a float array or one too long to keep.
  Counted,
  /// Facts gathered while passing over strings.
  Strings(StringFacts),
}

/// Facts about an array of strings whose text is not kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StringFacts {
  /// Index of the first string that repeats an earlier one, as C code sees it (up to the first NUL byte).
  pub duplicate: Option<u64>,
}

impl Array {
  /// The elements as non-negative integers, when they were kept and none is negative.
  pub fn unsigned(&self) -> Option<Vec<u64>> {
    match &self.content {
      ArrayContent::Integers(values) => values.iter().map(|value| u64::try_from(*value).ok()).collect(),
      _ => None,
    }
  }
}
