//! Recognises the networks that openWakeWord trains in an ONNX graph.

use super::chain::{Chain, Network, Op};
use super::onnx::{Graph, Node, Tensor, parse};
use super::refusal::unsupported;
use crate::error::Result;
use crate::nn::Level;
use crate::wake::features::EMBEDDING;
use crate::weights::invalid;

pub(super) fn network(bytes: &[u8], level: Level) -> Result<Network> {
  let graph = parse(bytes)?;
  let input = graph.inputs.iter().find(|(name, _)| !graph.constants.contains_key(name));
  let Some((input, shape)) = input else { return Err(invalid("the ONNX file has no input".to_owned())) };
  let embeddings = match shape.as_slice() {
    [_, embeddings, EMBEDDING] => *embeddings,
    _ => {
      return Err(unsupported(format!(
        "an input of {shape:?}: a head takes [1, count, {EMBEDDING}] embeddings"
      )));
    }
  };
  let size = embeddings * EMBEDDING;
  let outer = [&graph];
  let mut walk = Walk { graphs: &outer, level, value: input, ops: Vec::new() };
  walk.follow()?;
  let Walk { value, ops, .. } = walk;
  let main = Chain::new(size, ops)?;
  let verifier = match user(&graph, value, "GreaterOrEqual") {
    Some(comparison) => Some(verifier(&graph, comparison, (input, value), level, size)?),
    None if graph.outputs.contains(&value) => None,
    None => return Err(stranger(&graph, value)),
  };
  Ok(Network { embeddings, main, verifier })
}

/// `score >= limit ? second(input) : score`.
fn verifier(
  graph: &Graph,
  comparison: &Node,
  (input, score): (&str, &str),
  level: Level,
  size: usize,
) -> Result<(f32, Chain)> {
  let limit =
    comparison.inputs.get(1).and_then(|name| graph.constants.get(name)).and_then(|one| one.numbers.first());
  let mut condition = *comparison.outputs.first().unwrap_or(&"");
  if let Some([cast]) = user(graph, condition, "Cast").map(|cast| cast.outputs.as_slice()) {
    condition = cast;
  }
  let choice = user(graph, condition, "If");
  let branch =
    |name| choice.and_then(|node| node.attributes.get(name)).and_then(|branch| branch.graph.as_ref());
  let (Some(limit), Some(over), Some(under)) = (limit, branch("then_branch"), branch("else_branch")) else {
    return Err(stranger(graph, score));
  };
  if user(under, score, "Identity").is_none() {
    return Err(unsupported("a head whose low scores are not its first network's".to_owned()));
  }
  let graphs = [over, graph];
  let mut walk = Walk { graphs: &graphs, level, value: input, ops: Vec::new() };
  walk.follow()?;
  Ok((*limit, Chain::new(size, walk.ops)?))
}

/// The operation `op` that takes `value`.
fn user<'g, 'a>(graph: &'g Graph<'a>, value: &str, op: &str) -> Option<&'g Node<'a>> {
  graph.nodes.iter().find(|node| node.op == op && node.inputs.contains(&value))
}

fn stranger(graph: &Graph, value: &str) -> crate::error::AudioError {
  match graph.nodes.iter().find(|node| node.inputs.contains(&value)) {
    Some(node) => {
      unsupported(format!("a head with the operation {}: it is not one of openWakeWord's", node.op))
    }
    None => invalid("an ONNX graph whose last value is not its output".to_owned()),
  }
}

/// Follows one value through a graph. Constants may be those of a graph around it.
struct Walk<'w, 'g, 'a> {
  graphs: &'w [&'g Graph<'a>],
  level: Level,
  value: &'g str,
  ops: Vec<Op>,
}

impl<'g, 'a> Walk<'_, 'g, 'a> {
  fn graph(&self) -> &'g Graph<'a> {
    self.graphs[0]
  }

  /// Up to the sigmoid, or to an operation that is not known.
  fn follow(&mut self) -> Result<()> {
    while !matches!(self.ops.last(), Some(Op::Sigmoid)) {
      let users = self.graph().nodes.iter().filter(|node| node.inputs.first() == Some(&self.value));
      let Some(node) = users.min_by_key(|node| node.op != "ReduceMean") else { break };
      match node.op {
        "Flatten" | "Reshape" | "Identity" | "Dropout" | "Squeeze" => {}
        "Gemm" => self.dense(node, node.attributes.get("transB").is_some_and(|flag| flag.integer == 1))?,
        "MatMul" => self.dense(node, false)?,
        "Relu" => self.ops.push(Op::Relu),
        "Sigmoid" => self.ops.push(Op::Sigmoid),
        "LayerNormalization" => {
          let epsilon = node.attributes.get("epsilon").map_or(1e-5, |epsilon| epsilon.float);
          let (gain, bias) = (self.constant(node, 1)?.numbers, self.constant(node, 2)?.numbers);
          self.ops.push(Op::Norm { gain, bias, epsilon });
        }
        "ReduceMean" => {
          self.normalisation(node)?;
          continue;
        }
        _ => return Err(stranger(self.graph(), self.value)),
      }
      self.value = output(node)?;
    }
    Ok(())
  }

  fn constant(&self, node: &Node, index: usize) -> Result<Tensor> {
    let name = node.inputs.get(index).copied().unwrap_or_default();
    let found = self.graphs.iter().find_map(|graph| graph.constants.get(name));
    found.cloned().ok_or_else(|| unsupported(format!("a head whose {} takes a computed `{name}`", node.op)))
  }

  fn dense(&mut self, node: &Node, transposed: bool) -> Result<()> {
    let weight = self.constant(node, 1)?;
    let &[first, second] = weight.shape.as_slice() else {
      return Err(unsupported(format!("a head whose {} has a weight of {:?}", node.op, weight.shape)));
    };
    let (rows, columns) = if transposed { (first, second) } else { (second, first) };
    let by_row: Vec<f32> = if transposed {
      weight.numbers
    } else {
      (0..rows * columns).map(|at| weight.numbers[at % columns * rows + at / columns]).collect()
    };
    let bias = if node.inputs.len() > 2 { self.constant(node, 2)?.numbers } else { vec![0.0; rows] };
    if bias.len() != rows {
      return Err(invalid(format!("a layer of {rows} outputs with a bias of {}", bias.len())));
    }
    self.ops.push(Op::linear(self.level, &by_row, (rows, columns), &bias));
    Ok(())
  }

  /// A normalisation written out: `(x - mean) / sqrt(mean((x - mean)^2) + epsilon) * gain + bias`.
  fn normalisation(&mut self, mean: &Node) -> Result<()> {
    let graph = self.graph();
    let step = |value: &str, op: &str| {
      user(graph, value, op)
        .ok_or_else(|| unsupported("a head with a mean that is no normalisation".to_owned()))
    };
    let centred = output(step(output(mean)?, "Sub")?)?;
    let variance = step(output(step(centred, "Pow")?)?, "ReduceMean")?;
    let sum = step(output(variance)?, "Add")?;
    let epsilon = self.constant(sum, 1)?.numbers.first().copied().unwrap_or(1e-5);
    let quotient = step(output(step(output(sum)?, "Sqrt")?)?, "Div")?;
    let scaled = step(output(quotient)?, "Mul")?;
    let shifted = step(output(scaled)?, "Add")?;
    let (gain, bias) = (self.constant(scaled, 1)?.numbers, self.constant(shifted, 1)?.numbers);
    self.ops.push(Op::Norm { gain, bias, epsilon });
    self.value = output(shifted)?;
    Ok(())
  }
}

fn output<'g>(node: &'g Node) -> Result<&'g str> {
  node.outputs.first().copied().ok_or_else(|| invalid(format!("an ONNX {} without an output", node.op)))
}
