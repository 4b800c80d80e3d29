//! As much of the ONNX format (a protobuf message) as heads need.

use crate::error::Result;
use crate::weights::invalid;
use std::collections::HashMap;

/// Graphs inside graphs, at most this deep.
const DEEPEST: usize = 4;

/// One operation.
#[derive(Debug, Default)]
pub(super) struct Node<'a> {
  pub(super) op: &'a str,
  pub(super) inputs: Vec<&'a str>,
  pub(super) outputs: Vec<&'a str>,
  pub(super) attributes: HashMap<&'a str, Attribute<'a>>,
}

/// The values that an attribute may have; the others are 0, empty or none.
#[derive(Debug, Default)]
pub(super) struct Attribute<'a> {
  pub(super) float: f32,
  pub(super) integer: i64,
  pub(super) tensor: Option<Tensor>,
  pub(super) graph: Option<Graph<'a>>,
}

/// Numbers and their sizes.
#[derive(Debug, Default, Clone)]
pub(super) struct Tensor {
  pub(super) shape: Vec<usize>,
  pub(super) numbers: Vec<f32>,
}

/// Operations in order.
#[derive(Debug, Default)]
pub(super) struct Graph<'a> {
  pub(super) nodes: Vec<Node<'a>>,
  pub(super) constants: HashMap<&'a str, Tensor>,
  pub(super) inputs: Vec<(&'a str, Vec<usize>)>,
  pub(super) outputs: Vec<&'a str>,
}

/// The graph of a file.
pub(super) fn parse(bytes: &[u8]) -> Result<Graph<'_>> {
  for field in Fields(bytes) {
    if let (7, Value::Bytes(body)) = field? {
      return graph(body, 0);
    }
  }
  Err(invalid("not an ONNX file: it has no graph".to_owned()))
}

fn graph(bytes: &[u8], depth: usize) -> Result<Graph<'_>> {
  if depth > DEEPEST {
    return Err(invalid(format!("an ONNX file with graphs more than {DEEPEST} deep")));
  }
  let mut graph = Graph::default();
  for field in Fields(bytes) {
    match field? {
      (1, Value::Bytes(body)) => {
        let node = node(body, depth)?;
        if let ("Constant", [output], Some(value)) =
          (node.op, node.outputs.as_slice(), node.attributes.get("value"))
          && let Some(tensor) = &value.tensor
        {
          graph.constants.insert(output, tensor.clone());
        }
        graph.nodes.push(node);
      }
      (5, Value::Bytes(body)) => {
        let (name, tensor) = tensor(body)?;
        graph.constants.insert(name, tensor);
      }
      (11, Value::Bytes(body)) => graph.inputs.push(value_info(body)?),
      (12, Value::Bytes(body)) => graph.outputs.push(value_info(body)?.0),
      _ => {}
    }
  }
  Ok(graph)
}

fn node(bytes: &[u8], depth: usize) -> Result<Node<'_>> {
  let mut node = Node::default();
  for field in Fields(bytes) {
    match field? {
      (1, Value::Bytes(body)) => node.inputs.push(text(body)?),
      (2, Value::Bytes(body)) => node.outputs.push(text(body)?),
      (4, Value::Bytes(body)) => node.op = text(body)?,
      (5, Value::Bytes(body)) => {
        let (name, attribute) = attribute(body, depth)?;
        node.attributes.insert(name, attribute);
      }
      _ => {}
    }
  }
  Ok(node)
}

fn attribute(bytes: &[u8], depth: usize) -> Result<(&str, Attribute<'_>)> {
  let (mut name, mut attribute) = ("", Attribute::default());
  for field in Fields(bytes) {
    match field? {
      (1, Value::Bytes(body)) => name = text(body)?,
      (2, Value::Fixed32(bits)) => attribute.float = f32::from_bits(bits),
      (3, Value::Number(number)) => attribute.integer = number.cast_signed(),
      (5, Value::Bytes(body)) => attribute.tensor = Some(tensor(body)?.1),
      (6, Value::Bytes(body)) => attribute.graph = Some(graph(body, depth + 1)?),
      _ => {}
    }
  }
  Ok((name, attribute))
}

fn tensor(bytes: &[u8]) -> Result<(&str, Tensor)> {
  const FLOAT: u64 = 1;
  let (mut name, mut kind, mut tensor, mut raw) = ("", 0, Tensor::default(), &[][..]);
  for field in Fields(bytes) {
    match field? {
      (1, Value::Number(size)) => tensor.shape.push(size as usize),
      (1, Value::Bytes(packed)) => {
        let mut rest = packed;
        while !rest.is_empty() {
          tensor.shape.push(varint(&mut rest)? as usize);
        }
      }
      (2, Value::Number(number)) => kind = number,
      (4, Value::Bytes(packed)) => raw = packed,
      (4, Value::Fixed32(bits)) => tensor.numbers.push(f32::from_bits(bits)),
      (8, Value::Bytes(body)) => name = text(body)?,
      (9, Value::Bytes(body)) => raw = body,
      _ => {}
    }
  }
  // Integers, such as shapes, are not needed.
  if kind == FLOAT {
    tensor.numbers.extend(raw.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)));
    let count = tensor.shape.iter().try_fold(1usize, |count, size| count.checked_mul(*size));
    if count != Some(tensor.numbers.len()) || tensor.numbers.iter().any(|number| !number.is_finite()) {
      return Err(invalid(format!("the tensor `{name}` of the ONNX file is damaged")));
    }
  }
  Ok((name, tensor))
}

/// The name of a value, and its sizes; a size that is not fixed is 0.
fn value_info(bytes: &[u8]) -> Result<(&str, Vec<usize>)> {
  let (mut name, mut shape) = ("", Vec::new());
  for field in Fields(bytes) {
    match field? {
      (1, Value::Bytes(body)) => name = text(body)?,
      // type > tensor_type > shape > dim > dim_value
      (2, Value::Bytes(body)) => {
        for dimension in within(within_one(within_one(body, 1)?, 2)?, 1)? {
          let mut size = 0;
          for field in Fields(dimension) {
            if let (1, Value::Number(number)) = field? {
              size = number as usize;
            }
          }
          shape.push(size);
        }
      }
      _ => {}
    }
  }
  Ok((name, shape))
}

fn within(bytes: &[u8], wanted: u64) -> Result<Vec<&[u8]>> {
  let mut found = Vec::new();
  for field in Fields(bytes) {
    if let (number, Value::Bytes(body)) = field?
      && number == wanted
    {
      found.push(body);
    }
  }
  Ok(found)
}

fn within_one(bytes: &[u8], wanted: u64) -> Result<&[u8]> {
  Ok(within(bytes, wanted)?.first().copied().unwrap_or_default())
}

enum Value<'a> {
  Number(u64),
  Fixed32(u32),
  Bytes(&'a [u8]),
  Other,
}

/// The fields of a message: their numbers and values.
struct Fields<'a>(&'a [u8]);

impl<'a> Iterator for Fields<'a> {
  type Item = Result<(u64, Value<'a>)>;

  fn next(&mut self) -> Option<Self::Item> {
    if self.0.is_empty() {
      return None;
    }
    let field = self.read();
    if field.is_err() {
      self.0 = &[];
    }
    Some(field)
  }
}

impl<'a> Fields<'a> {
  fn read(&mut self) -> Result<(u64, Value<'a>)> {
    let key = varint(&mut self.0)?;
    let value = match key & 7 {
      0 => Value::Number(varint(&mut self.0)?),
      1 => self.take(8).map(|_| Value::Other)?,
      2 => {
        let length = varint(&mut self.0)?;
        Value::Bytes(self.take(usize::try_from(length).unwrap_or(usize::MAX))?)
      }
      5 => {
        let bytes = self.take(4)?;
        Value::Fixed32(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
      }
      _ => return Err(damaged()),
    };
    Ok((key >> 3, value))
  }

  fn take(&mut self, length: usize) -> Result<&'a [u8]> {
    let (taken, rest) = self.0.split_at_checked(length).ok_or_else(damaged)?;
    self.0 = rest;
    Ok(taken)
  }
}

fn varint(bytes: &mut &[u8]) -> Result<u64> {
  let mut value = 0;
  for shift in (0..64).step_by(7) {
    let (byte, rest) = bytes.split_first().ok_or_else(damaged)?;
    *bytes = rest;
    value |= u64::from(byte & 0x7F) << shift;
    if byte & 0x80 == 0 {
      return Ok(value);
    }
  }
  Err(damaged())
}

fn text(bytes: &[u8]) -> Result<&str> {
  std::str::from_utf8(bytes).map_err(|_| damaged())
}

fn damaged() -> crate::error::AudioError {
  invalid("not an ONNX file, or a damaged one".to_owned())
}
