//! The tensors of real models that there are figures for.

use std::error::Error;
use std::fs::File;
use std::io::{BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use half::f16;
use local_inference_core::gguf::{GgufFile, TensorInfo};
use local_inference_kernels::Weights;

/// Name in the figures, beginning of the file's name, end of the tensors' names.
const TENSORS: [(&str, &str, &str); 3] = [
  ("gemma3-270m token_embd", "gemma-3-270m", "token_embd.weight"),
  ("gemma3-270m attn_v", "gemma-3-270m", "attn_v.weight"),
  ("smollm2-135m token_embd", "SmolLM2-135M", "token_embd.weight"),
];

/// `Q8_0`: an f16 scale and 32 signed bytes.
const BLOCK: usize = 34;
/// Values of one source, the first of its tensors; more would only take longer.
const MOST: usize = 1 << 22;

/// What of the file at `path` can be compared with figures.
pub(crate) fn read(path: &Path) -> Result<Vec<Weights>, Box<dyn Error>> {
  let mut file = File::open(path)?;
  let size = file.metadata()?.len();
  let header = GgufFile::parse(BufReader::new(&file), size)?;
  let file_name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
  let mut samples = Vec::new();
  for (name, model, tensor_end) in TENSORS {
    debug_assert!(Weights::NAMES.contains(&name));
    if !file_name.starts_with(model) {
      continue;
    }
    let mut values = Vec::new();
    for tensor in header.tensors.iter().filter(|tensor| tensor.name.ends_with(tensor_end)) {
      if tensor.kind.name == "Q8_0" && values.len() < MOST {
        values.extend(read_tensor(&mut file, header.data_offset, tensor)?);
      }
    }
    values.truncate(values.len().min(MOST) / 256 * 256);
    if !values.is_empty() {
      samples.push(Weights { name: name.to_owned(), values });
    }
  }
  Ok(samples)
}

fn read_tensor(file: &mut File, data: u64, tensor: &TensorInfo) -> Result<Vec<f32>, Box<dyn Error>> {
  let mut bytes = vec![0; usize::try_from(tensor.bytes)?];
  file.seek(SeekFrom::Start(data + tensor.offset))?;
  file.read_exact(&mut bytes)?;
  Ok(bytes.chunks_exact(BLOCK).take(MOST / 32).flat_map(decode).collect())
}

fn decode(block: &[u8]) -> impl Iterator<Item = f32> {
  let scale = f16::from_le_bytes([block[0], block[1]]).to_f32();
  block[2..].iter().map(move |byte| scale * f32::from(byte.cast_signed()))
}
