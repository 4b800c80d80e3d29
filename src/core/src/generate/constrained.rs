//! How a constraint shapes a generation: the model's own choice is checked first and everything else is ruled out only
//! when it is refused, what is determined is not sampled, and an answer that must end early is completed.

use super::event::{FinishReason, Piece};
use super::generation::{Generation, Progress};
use crate::decoder::{Among, Decode, Sample, Sampled};
use crate::error::Result;
use crate::grammar::{Guard, TokenMask, Verdict};
use crate::options::GenerateOptions;
use crate::token::Token;

/// Tokens before a limit from which it is looked at whether what is open can still be closed: a quarter of the room,
/// within these bounds.
const RESERVE: std::ops::RangeInclusive<usize> = 16..=512;

/// The guard of a request whose options ask for a constraint.
pub(crate) fn guard<D: Sample>(decoder: &D, options: &GenerateOptions) -> Result<Option<Guard>> {
  match (decoder.constraint(options)?, &options.constraint) {
    (Some(constraint), Some(wanted)) => {
      Guard::new(constraint, wanted, options.text.reasoning.as_ref()).map(Some)
    }
    _ => Ok(None),
  }
}

impl<S> Generation<S> {
  /// Puts the generation under `guard`. What is determined from the start is taken at once, so that it is evaluated
  /// together with the prompt.
  pub(crate) fn constrained<D: Decode + Sample<Sampler = S>>(
    mut self,
    decoder: &mut D,
    guard: Option<Guard>,
  ) -> Result<Self> {
    self.guard = guard;
    let room = self.remaining(decoder);
    let Some(guard) = &mut self.guard else { return Ok(self) };
    let forced = if self.options.logprobs.is_some() { Vec::new() } else { guard.forced_first() };
    // The first token after them is sampled.
    let mut progress = Progress { piece: Piece::default(), finish: None, full: false };
    self.take(decoder, &forced[..forced.len().min(room.saturating_sub(2))], &mut progress)?;
    self.lead = progress.piece;
    Ok(self)
  }

  /// The token that the model would like next, or the one it likes best of those that the constraint admits.
  pub(super) fn choose<D: Decode + Sample<Sampler = S>>(
    &mut self,
    decoder: &mut D,
    row: usize,
    ban_end: bool,
  ) -> Result<Sampled> {
    let greedy = self.guard.as_ref().is_some_and(Guard::greedy);
    let mut sampled = decoder.propose(&mut self.sampler, row, Among { ban_end, greedy, mask: None })?;
    if self.judge(decoder, sampled.token)? == Verdict::Refused {
      self.usage.refused_tokens += 1;
      if let Some(guard) = &mut self.guard {
        let ending = if decoder.is_end(sampled.token) { guard.ending() } else { Vec::new() };
        let mask = match ending.split_first() {
          // A model that wants to end does not want to choose how: what it is in the middle of ends.
          Some((&first, rest)) if guard.judge(first, false, &[])? == Verdict::Allowed => {
            self.ending = rest.to_vec();
            TokenMask::only(first, decoder.vocabulary_size())
          }
          _ => guard.mask()?,
        };
        // Where only the end is left, nothing is gained by forbidding it.
        let ban_end = ban_end && tokens_of(mask.words()).any(|token| !decoder.is_end(token));
        let among = Among { ban_end, greedy, mask: Some(&mask) };
        sampled = decoder.propose(&mut self.sampler, row, among)?;
      }
    }
    decoder.accept(&mut self.sampler, sampled.token)?;
    self.tell_guard(decoder, sampled.token)?;
    Ok(sampled)
  }

  fn judge<D: Sample<Sampler = S>>(&mut self, decoder: &D, token: Token) -> Result<Verdict> {
    let ended = self.spell(decoder, token);
    match &mut self.guard {
      Some(guard) => guard.judge(token, ended, &self.bytes),
      None => Ok(Verdict::Allowed),
    }
  }

  fn tell_guard<D: Sample<Sampler = S>>(&mut self, decoder: &D, token: Token) -> Result<()> {
    let ended = self.spell(decoder, token);
    match &mut self.guard {
      Some(guard) => guard.accept(token, ended, &self.bytes),
      None => Ok(()),
    }
  }

  /// Puts the text of `token` into `bytes`; returns whether it ends the generation.
  fn spell<D: Sample<Sampler = S>>(&mut self, decoder: &D, token: Token) -> bool {
    self.bytes.clear();
    let ended = decoder.is_end(token);
    if !ended {
      decoder.piece(&self.sampler, token, &mut self.bytes);
    }
    ended
  }

  /// What the constraint adds to a sampled token: tokens that must follow, the end, a closing before a limit.
  pub(super) fn follow<D: Decode + Sample<Sampler = S>>(
    &mut self,
    decoder: &mut D,
    mut progress: Progress,
  ) -> Result<Progress> {
    if self.lead.tokens > 0 {
      let mut piece = std::mem::take(&mut self.lead);
      piece.append(std::mem::take(&mut progress.piece));
      progress.piece = piece;
    }
    let in_reasoning = self.text.in_reasoning();
    let Some(guard) = &mut self.guard else { return Ok(progress) };
    guard.observe(in_reasoning);
    if progress.finish.is_none() && guard.is_complete() {
      progress.finish = Some(FinishReason::Stop);
    }
    if progress.finish.is_none() {
      self.jump(decoder, &mut progress)?;
    }
    if progress.finish != Some(FinishReason::Stop) {
      self.close(decoder, &mut progress);
    }
    Ok(progress)
  }

  /// Takes what is determined without sampling it. Not when log probabilities are asked for: they are measured where a
  /// token is sampled.
  fn jump<D: Decode + Sample<Sampler = S>>(
    &mut self,
    decoder: &mut D,
    progress: &mut Progress,
  ) -> Result<()> {
    let room = self.remaining(decoder);
    let Some(guard) = &mut self.guard else { return Ok(()) };
    if !self.ending.is_empty() {
      let ending = std::mem::take(&mut self.ending);
      return self.take(decoder, &ending[..ending.len().min(room.saturating_sub(1))], progress);
    }
    let mut forced = if self.options.logprobs.is_some() { Vec::new() } else { guard.forced() };
    // A model that reasons past half of the room would leave none for the answer.
    if forced.is_empty() && room.saturating_mul(2) < self.usage.completion_tokens.saturating_add(room) {
      forced = guard.end_of_reasoning();
    }
    self.take(decoder, &forced[..forced.len().min(room.saturating_sub(1))], progress)
  }

  /// Takes tokens without sampling them, up to the end of the answer.
  fn take<D: Decode + Sample<Sampler = S>>(
    &mut self,
    decoder: &mut D,
    tokens: &[Token],
    progress: &mut Progress,
  ) -> Result<()> {
    for &token in tokens {
      decoder.accept(&mut self.sampler, token)?;
      self.tell_guard(decoder, token)?;
      self.usage.completion_tokens += 1;
      self.usage.forced_tokens += 1;
      self.history.push(token);
      self.text.set_stops_enabled(true);
      let delta = self.read(decoder, token, false);
      let in_reasoning = self.text.in_reasoning();
      let stopped = delta.stop.is_some();
      progress.piece.append(self.piece(delta));
      progress.piece.tokens += 1;
      let complete = self.guard.as_mut().is_some_and(|guard| {
        guard.observe(in_reasoning);
        guard.is_complete()
      });
      if stopped || complete {
        progress.finish = Some(FinishReason::Stop);
        break;
      }
    }
    Ok(())
  }

  /// Completes the answer when a limit is as near as what is open needs. What completes it is determined and the end
  /// follows, so none of it is evaluated.
  fn close<D: Decode + Sample<Sampler = S>>(&mut self, decoder: &D, progress: &mut Progress) {
    let remaining = self.remaining(decoder);
    if self.close_check == usize::MAX {
      let room = remaining + self.usage.completion_tokens;
      self.close_check = (room / 4).clamp(*RESERVE.start(), *RESERVE.end());
    }
    if progress.finish.is_none() && remaining > self.close_check {
      return;
    }
    let Some((closing, tokens)) = self.guard.as_mut().and_then(Guard::closing) else { return };
    if progress.finish.is_none() && tokens < remaining {
      self.close_check = remaining - ((remaining - tokens) / 4).max(1);
      return;
    }
    self.text.set_stops_enabled(false);
    let delta = self.text.push(&closing);
    progress.piece.append(self.piece(delta));
    progress.piece.tokens += u32::try_from(tokens).unwrap_or(u32::MAX);
    self.usage.completion_tokens += tokens;
    self.usage.forced_tokens += tokens;
    progress.finish.get_or_insert(self.limit(decoder));
  }

  /// Tokens that may still be generated.
  pub(crate) fn remaining<D: Decode>(&self, decoder: &D) -> usize {
    let allowed = self.options.max_tokens.map_or(usize::MAX, |limit| limit as usize);
    let context = (decoder.context_size() + 1).saturating_sub(self.history.len_cells());
    allowed.saturating_sub(self.usage.completion_tokens).min(context)
  }

  /// The limit that is nearer.
  fn limit<D: Decode>(&self, decoder: &D) -> FinishReason {
    let allowed = self.options.max_tokens.map_or(usize::MAX, |limit| limit as usize);
    let context = (decoder.context_size() + 1).saturating_sub(self.history.len_cells());
    let left = allowed.saturating_sub(self.usage.completion_tokens);
    if left <= context { FinishReason::Length } else { FinishReason::Context }
  }
}

fn tokens_of(words: &[u32]) -> impl Iterator<Item = Token> {
  words.iter().enumerate().flat_map(|(index, &word)| {
    let base = index * 32;
    (0..32).filter(move |bit| word >> bit & 1 == 1).filter_map(move |bit| Token::try_from(base + bit).ok())
  })
}
