//! The drafter of the fake.

use local_inference_core::decoder::{
  Draft, DraftRequest, Drafted, KvMemory as _, Sample as _, Sampled, SequenceId, Token,
};
use local_inference_core::error::Result;
use local_inference_core::speculate::Kind;

use super::Fake;
use super::sample::FakeSampler;

impl Draft for Fake {
  fn drafter(&self) -> Option<Kind> {
    self.setup.drafting.map(|_| Kind::Assistant)
  }

  fn observe(&mut self, _: SequenceId, row: usize, position: usize) {
    self.with(|state| {
      let before = state.rows.get(&row).unwrap_or_else(|| panic!("row {row} has no logits"));
      assert_eq!(before.end, position, "row {row} comes after another token");
    });
  }

  fn draft(&mut self, requests: &[DraftRequest]) -> Vec<Vec<Token>> {
    let wrong_every = self.setup.drafting.expect("a drafter").wrong_every;
    let draft = |request: &DraftRequest| {
      assert!(request.most > 0, "nothing was asked for");
      let before = request.history.position(request.history.len_cells() - 1);
      assert_eq!(self.length(request.sequence), before, "only the last token is new");
      let state = self.state.borrow();
      let history =
        [state.tokens(request.sequence), request.history.tail()[request.history.tail().len() - 1..].to_vec()];
      state.drafted(&history.concat(), request.most, wrong_every)
    };
    let drafts: Vec<_> = requests.iter().map(draft).collect();
    self.with(|state| {
      state.drafts.extend(drafts.iter().map(Vec::len));
      state.drawn.extend(requests.iter().map(|request| request.draw.is_some()));
    });
    drafts
  }

  fn verify(
    &mut self,
    sampler: &mut FakeSampler,
    row: usize,
    ban_end: bool,
    drafted: Drafted,
  ) -> Result<Sampled> {
    self.with(|state| state.verified.push(drafted));
    self.sample(sampler, row, ban_end)
  }
}
