//! Decoding what a step has chosen, and what an interruption or a failure leaves.

use std::cell::RefCell;
use std::time::Instant;

use super::Scheduler;
use super::batch::next_media;
use super::draft::Row;
use super::queue::Arrival;
use crate::cancel::CancelToken;
use crate::decoder::{Decoded, Decoder, MediaPlace};
use crate::error::{EngineError, Result};
use crate::generate::Sink;

impl<D: Decoder, K: Sink> Scheduler<D, K> {
  /// Puts the next tokens of the requests in `slots` (the most urgent first) into the batch. Returns the rows to sample
  /// from.
  pub(super) fn fill_batch(&mut self, slots: &[usize]) -> Vec<Row> {
    let Self { requests, cache, batch, .. } = self;
    let shares = requests.shares(slots, self.decoder.batch_size(), |slot| cache.tail(slot));
    batch.fill(&shares, requests, cache)
  }

  /// Adds drafts to the batch, decodes it and samples from `rows`.
  pub(super) fn decode_batch(&mut self, rows: &mut [Row], arrivals: &mut dyn FnMut() -> Option<Arrival<K>>) {
    let Self { decoder, requests, cache, batch, speculation, .. } = self;
    speculation.add_drafts(decoder, requests, cache, batch, rows);
    let started = Instant::now();
    let batch = std::mem::take(&mut self.batch);
    let outcome =
      self.decode(batch.slots(), arrivals, |decoder, interrupt| decoder.decode(batch.tokens(), interrupt));
    self.speculation.timed(&batch, started.elapsed(), matches!(outcome, Ok(Decoded::Complete)));
    match outcome {
      Ok(Decoded::Complete) => {
        // The tokens first: a snapshot takes a while.
        self.sample(rows);
        self.conclude();
        self.checkpoint();
      }
      Ok(Decoded::Interrupted) => self.resynchronise(batch.slots()),
      Err(error) => self.fail_all_in(batch.slots(), &error),
    }
    self.batch = batch;
  }

  /// Takes a slot whose request has to evaluate media next out of `admitted`, and what these are. Others that have media
  /// next wait for their turn.
  pub(super) fn take_media(&self, admitted: &mut Vec<usize>) -> Option<(usize, MediaPlace)> {
    let mut first = None;
    admitted.retain(|&slot| {
      let running = self.requests.get(slot);
      let media = running.and_then(|running| next_media(running, slot, &self.cache));
      first = first.or(media.map(|place| (slot, place)));
      media.is_none()
    });
    first
  }

  /// Evaluates the media that a request has next.
  pub(super) fn decode_media(
    &mut self,
    slot: usize,
    place: MediaPlace,
    arrivals: &mut dyn FnMut() -> Option<Arrival<K>>,
  ) {
    let outcome = self.decode(&[slot], arrivals, |decoder, interrupt| decoder.decode_media(place, interrupt));
    match outcome {
      Ok(Decoded::Complete) => {
        if let Some(running) = self.requests.get_mut(slot) {
          let length = self.cache.cached(slot).len_cells() + place.media.cells();
          self.cache.extend(slot, &running.generation.history, length);
          running.begun = true;
        }
        self.checkpoint();
      }
      Ok(Decoded::Interrupted) => self.resynchronise(&[slot]),
      Err(error) => self.fail_all_in(&[slot], &error),
    }
  }

  /// Decodes with `action`; the cancel flag of any request in `slots` interrupts.
  fn decode(
    &mut self,
    slots: &[usize],
    arrivals: &mut dyn FnMut() -> Option<Arrival<K>>,
    action: impl FnOnce(&mut D, &dyn Fn() -> bool) -> Result<Decoded>,
  ) -> Result<Decoded> {
    let running = slots.iter().filter_map(|&slot| self.requests.get(slot));
    let cancels: Vec<_> = running.map(|running| running.generation.cancel.clone()).collect();
    let queue = RefCell::new((&mut self.queue, arrivals));
    let interrupt = || {
      let (queue, arrivals) = &mut *queue.borrow_mut();
      while let Some(arrival) = arrivals() {
        queue.submit(arrival);
      }
      queue.reap();
      cancels.iter().any(CancelToken::is_cancelled)
    };
    action(&mut self.decoder, &interrupt)
  }

  /// After an interrupted decode: takes up each sequence where its KV cache really ends.
  fn resynchronise(&mut self, slots: &[usize]) {
    for &slot in slots {
      let Some(running) = self.requests.get_mut(slot) else { continue };
      let cancelled = running.generation.cancel.is_cancelled();
      self.cache.resynchronise(&mut self.decoder, slot, cancelled);
      running.generation.cached_at_most(self.cache.cached(slot).len_cells());
    }
  }

  /// After a failed decode: ends its requests; nobody knows what their sequences hold.
  fn fail_all_in(&mut self, slots: &[usize], error: &EngineError) {
    for &slot in slots {
      self.fail(slot, error);
      self.cache.evict(&mut self.decoder, slot, false);
    }
  }
}
