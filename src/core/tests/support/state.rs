//! The KV cache of the fake, and what tests script.

use std::collections::{HashMap, HashSet};

use local_inference_core::cancel::CancelToken;
use local_inference_core::decoder::{BatchToken, Drafted, MediaPlace, SequenceId, Token};

use super::fake::index;
use super::model;

/// A cell of the KV cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Held {
  /// The token, or a negative number that depends on the media and on the place in them.
  pub(super) word: Token,
  /// Where it is, and where what comes after its token or media is.
  pub(super) position: usize,
  pub(super) next: usize,
}

/// What a row of the last batch follows.
pub(super) struct Row {
  pub(super) words: Vec<Token>,
  /// Position after them.
  pub(super) end: usize,
}

/// What a test reads and scripts while the scheduler owns the decoder.
#[derive(Default)]
pub(crate) struct State {
  /// The KV cache: what each cell holds.
  pub(super) table: Vec<Held>,
  /// The cells of each sequence.
  pub(crate) cells: Vec<Vec<usize>>,
  /// Snapshots that were taken.
  pub(crate) snapshots: usize,
  /// Snapshots that were restored.
  pub(crate) restored: usize,
  /// Batches of completed and failed decodes, and what interrupted ones were given.
  pub(crate) batches: Vec<Vec<BatchToken>>,
  /// Media that were evaluated.
  pub(crate) media: Vec<MediaPlace>,
  /// Cells that were evaluated.
  pub(crate) evaluated: usize,
  /// Most cells that were in use at once.
  pub(crate) peak: usize,
  /// Micro-batches that were begun.
  pub(crate) polls: usize,
  /// Output by prompt, instead of the model's.
  pub(crate) scripts: HashMap<Vec<Token>, Vec<Token>>,
  /// Numbers of the decode calls that fail, from 0.
  pub(crate) failing_decodes: HashSet<usize>,
  /// Prompts whose sampler cannot be created.
  pub(crate) failing_samplers: HashSet<Vec<Token>>,
  /// Number of the token (from 0) that cannot be chosen, by prompt.
  pub(crate) failing_samples: HashMap<Vec<Token>, usize>,
  /// Cancels when this many micro-batches were begun.
  pub(crate) cancels: Vec<(usize, CancelToken)>,
  /// Called when this many micro-batches were begun, after that one's interrupt was asked.
  pub(crate) hooks: Vec<(usize, Box<dyn Fn()>)>,
  /// Lengths of the drafts that were made.
  pub(crate) drafts: Vec<usize>,
  /// Whether each of them was to be drawn.
  pub(crate) drawn: Vec<bool>,
  /// Drawn tokens that came to be verified.
  pub(crate) verified: Vec<Drafted>,
  /// Histories of the last batch's rows that have logits.
  pub(super) rows: HashMap<usize, Row>,
}

impl State {
  /// What the model would say next, wrong after every `wrong_every`th token.
  pub(super) fn drafted(&self, history: &[Token], most: usize, wrong_every: usize) -> Vec<Token> {
    let mut history = history.to_vec();
    let known = history.len();
    for _ in 0..most {
      let script = self.scripts.iter().find(|(prompt, _)| history.starts_with(prompt));
      let scripted = script.and_then(|(prompt, script)| script.get(history.len() - prompt.len()).copied());
      let right = scripted.unwrap_or_else(|| model::next(&history, 7, false));
      let wrong = wrong_every > 0 && history.len().is_multiple_of(wrong_every);
      history.push(if wrong { (right + 1) % model::VOCABULARY } else { right });
    }
    history.split_off(known)
  }

  /// Notes a batch, in which the tokens of a sequence must follow each other. Returns the number of the call, from 0.
  pub(super) fn begin(&mut self, batch: &[BatchToken]) -> usize {
    let runs = batch.chunk_by(|a, b| a.sequence == b.sequence).map(|run| run[0].sequence);
    let distinct: HashSet<_> = runs.clone().collect();
    assert_eq!(runs.count(), distinct.len(), "a sequence is interrupted by another: {batch:?}");
    self.rows.clear();
    self.batches.push(batch.to_vec());
    self.batches.len() - 1
  }

  pub(super) fn poll(&mut self) {
    self.polls += 1;
    for (at, cancel) in &self.cancels {
      if *at == self.polls {
        cancel.cancel();
      }
    }
  }

  pub(super) fn evaluate(&mut self, first_row: usize, micro_batch: &[BatchToken], context: usize) {
    for (offset, token) in micro_batch.iter().enumerate() {
      assert!(
        (0..model::VOCABULARY).contains(&token.token),
        "token {} is not in the vocabulary",
        token.token
      );
      self.put(token.sequence, index(token.position), token.token);
      if token.logits {
        let row = Row { words: self.tokens(token.sequence), end: self.end(token.sequence) };
        self.rows.insert(first_row + offset, row);
      }
    }
    self.count(micro_batch.len(), context);
  }

  /// Evaluates media.
  pub(super) fn evaluate_media(&mut self, place: MediaPlace, context: usize) {
    self.media.push(place);
    let (position, cells) = (index(place.position), place.media.cells());
    let next = position + place.media.positions();
    assert_eq!(position, self.end(place.sequence), "sequence {} has a gap", place.sequence);
    for number in 0..cells {
      let hash = place.media.id[0].wrapping_mul(31).wrapping_add(number as u64) % 1000;
      let word = -1 - Token::try_from(hash).expect("a small number");
      self.hold(place.sequence, Held { word, position, next });
    }
    self.count(cells, context);
  }

  fn count(&mut self, cells: usize, context: usize) {
    self.evaluated += cells;
    let used = self.used();
    assert!(used <= context, "{used} cells are in use, the context has {context}");
    self.peak = self.peak.max(used);
  }

  /// Adds a token.
  pub(super) fn put(&mut self, sequence: SequenceId, position: usize, word: Token) {
    assert_eq!(position, self.end(sequence), "sequence {sequence} has a gap");
    self.hold(sequence, Held { word, position, next: position + 1 });
  }

  /// Adds a cell.
  pub(super) fn hold(&mut self, sequence: SequenceId, held: Held) {
    self.cells[index(sequence)].push(self.table.len());
    self.table.push(held);
  }

  /// What the cells of a sequence hold.
  pub(super) fn held(&self, sequence: SequenceId) -> impl DoubleEndedIterator<Item = Held> {
    self.cells[index(sequence)].iter().map(|&cell| self.table[cell])
  }

  /// What a sequence holds.
  pub(crate) fn tokens(&self, sequence: SequenceId) -> Vec<Token> {
    self.held(sequence).map(|held| held.word).collect()
  }

  /// Position after what a sequence holds.
  pub(super) fn end(&self, sequence: SequenceId) -> usize {
    self.held(sequence).next_back().map_or(0, |held| held.next)
  }

  /// Cells of a sequence before `position`, which divides no media.
  pub(super) fn before(&self, sequence: SequenceId, position: usize) -> usize {
    let held: Vec<_> = self.held(sequence).take_while(|held| held.position < position).collect();
    assert_eq!(held.last().map_or(0, |held| held.next), position, "a cut at {position} divides media");
    held.len()
  }

  /// Cells in use.
  pub(crate) fn used(&self) -> usize {
    self.cells.iter().flatten().collect::<HashSet<_>>().len()
  }
}
