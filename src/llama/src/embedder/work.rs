//! The embedder's thread.

use std::sync::mpsc::Receiver;

use llama_cpp_sys_2 as sys;
use local_inference_core::cancel::CancelToken;
use local_inference_core::decoder::{BatchToken, Decoded, Token};
use local_inference_core::embed::pack;
use local_inference_core::error::{EngineError, ErrorCode, Result};

use crate::context::Context;
use crate::threads::Active;

/// Texts that share one decode at most.
pub(super) const SEQUENCES: u32 = 64;
/// Tokens up to which texts share a decode: attention is computed over the whole batch, so larger ones waste work.
pub(super) const SHARED_TOKENS: u32 = 512;

/// Where the vectors of a request go, one a text, not normalised.
pub type Reply = Box<dyn FnOnce(Result<Vec<Vec<f32>>>) + Send>;

pub(super) struct Job {
  pub(super) texts: Vec<Vec<Token>>,
  pub(super) cancel: CancelToken,
  pub(super) reply: Reply,
}

pub(super) enum Command {
  Embed(Job),
  Close,
}

pub(super) fn closed() -> EngineError {
  EngineError::new(ErrorCode::Closed, "the embedder was closed")
}

/// Takes every waiting job and packs their texts into common decodes.
pub(super) fn run(mut context: Context, dimensions: usize, commands: &Receiver<Command>) {
  'running: loop {
    let mut jobs = Vec::new();
    let mut next = commands.recv().ok();
    loop {
      match next {
        Some(Command::Embed(job)) => jobs.push(job),
        Some(Command::Close) => {
          for job in jobs {
            (job.reply)(Err(closed()));
          }
          break 'running;
        }
        None => break,
      }
      next = commands.try_recv().ok();
    }
    if jobs.is_empty() {
      break;
    }
    work(&mut context, dimensions, jobs);
  }
  while let Ok(Command::Embed(job)) = commands.try_recv() {
    (job.reply)(Err(closed()));
  }
}

fn work(context: &mut Context, dimensions: usize, jobs: Vec<Job>) {
  let _active = Active::begin();
  let places: Vec<(usize, usize)> =
    jobs.iter().enumerate().flat_map(|(job, it)| (0..it.texts.len()).map(move |text| (job, text))).collect();
  let lengths: Vec<usize> = places.iter().map(|&(job, text)| jobs[job].texts[text].len()).collect();
  let mut outcomes: Vec<Result<Vec<Vec<f32>>>> =
    jobs.iter().map(|job| Ok(vec![Vec::new(); job.texts.len()])).collect();
  for group in pack(&lengths, SHARED_TOKENS.min(context.settings().batch) as usize, SEQUENCES as usize) {
    let alive: Vec<_> = group
      .into_iter()
      .map(|index| places[index])
      .filter(|&(job, _)| !jobs[job].cancel.is_cancelled())
      .collect();
    if alive.is_empty() {
      continue;
    }
    let texts: Vec<&[Token]> = alive.iter().map(|&(job, text)| jobs[job].texts[text].as_slice()).collect();
    let interrupt = || alive.iter().all(|&(job, _)| jobs[job].cancel.is_cancelled());
    let vectors = embed(context, &texts, dimensions, &interrupt);
    for (index, &(job, text)) in alive.iter().enumerate() {
      match (&vectors, &mut outcomes[job]) {
        (Ok(vectors), Ok(results)) => results[text].clone_from(&vectors[index]),
        (Err(error), outcome) => *outcome = Err(error.clone()),
        (Ok(_), Err(_)) => {}
      }
    }
  }
  for (job, outcome) in jobs.into_iter().zip(outcomes) {
    let cancelled = job.cancel.is_cancelled();
    (job.reply)(if cancelled {
      Err(EngineError::new(ErrorCode::Cancelled, "embedding was cancelled"))
    } else {
      outcome
    });
  }
}

/// One decode; one vector a text.
fn embed(
  context: &mut Context,
  texts: &[&[Token]],
  dimensions: usize,
  interrupt: &dyn Fn() -> bool,
) -> Result<Vec<Vec<f32>>> {
  context.clear_all();
  let batch: Vec<BatchToken> = texts
    .iter()
    .zip(0_i32..)
    .flat_map(|(tokens, sequence)| {
      tokens.iter().zip(0_i32..).map(move |(&token, position)| BatchToken {
        token,
        position,
        sequence,
        logits: true,
      })
    })
    .collect();
  if context.evaluate(&batch, interrupt)? == Decoded::Interrupted {
    // Either every caller has cancelled, which `work` reports as such, or the embedder is being closed.
    return Err(closed());
  }
  (0_i32..)
    .zip(texts)
    .map(|(sequence, _)| {
      // SAFETY: the context is alive; pooled vectors of the last decode have `dimensions` floats.
      let vector = unsafe {
        let pointer = sys::llama_get_embeddings_seq(context.pointer().as_ptr(), sequence);
        if pointer.is_null() {
          return Err(EngineError::new(ErrorCode::DecodeFailed, "llama.cpp returned no embedding"));
        }
        std::slice::from_raw_parts(pointer, dimensions)
      };
      Ok(vector.to_vec())
    })
    .collect()
}
