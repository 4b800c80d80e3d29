//! Prompts with media beside each other, at random.

use local_inference_core::generate::FinishReason;
use local_inference_core::history::History;
use local_inference_core::speculate::Limits;
use proptest::prelude::*;

use super::media::{MEMORIES, answer, image};
use crate::support::fake::{Drafting, Setup};
use crate::support::solo::{Bench, prompt, solo_of};

#[derive(Debug, Clone)]
struct Wanted {
  prompt: History,
  tokens: u32,
  cancelled_within: Option<usize>,
  steps: usize,
}

fn wanted() -> impl Strategy<Value = Wanted> {
  let part = (0_usize..12, prop::option::of(0_u64..3));
  let parts = (prop::collection::vec(part, 0..4), 1..3_i32, 1_usize..20);
  (parts, 1_u32..30, prop::option::weighted(0.2, 1_usize..20), 0_usize..15).prop_map(
    |((parts, salt, last), tokens, cancelled_within, steps)| {
      let mut history = History::default();
      for (text, id) in parts {
        history.extend_from_slice(&prompt(1, text));
        if let Some(id) = id {
          history.push_media(image(id));
        }
      }
      history.extend_from_slice(&prompt(salt, last));
      Wanted { prompt: history, tokens, cancelled_within, steps }
    },
  )
}

fn setups() -> impl Strategy<Value = Setup> {
  let memory = prop::sample::select(MEMORIES.to_vec());
  let sizes = (1_u32..4, 60_usize..140, 4_usize..20);
  (sizes, memory, prop::option::of(300_usize..4000), any::<bool>(), any::<bool>()).prop_map(
    |((parallel, context, batch), memory, cache, durable, drafts)| {
      let limits = Limits { min: 1, max: 3, adaptive: false };
      Setup {
        parallel,
        context,
        batch,
        memory,
        cache: cache.unwrap_or(0),
        durable,
        drafting: drafts.then_some(Drafting { wrong_every: 3, limits }),
        ..Setup::default()
      }
    },
  )
}

proptest! {
  #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

  /// Whatever runs beside them, prompts with media give what they give alone.
  #[test]
  fn prompts_with_media_give_what_they_give_alone(
    setup in setups(), wanted in prop::collection::vec(wanted(), 1..12)
  ) {
    let mut bench = Bench::new(setup);
    let mut tickets = Vec::new();
    for request in &wanted {
      let ticket = bench.submit_history(&request.prompt, answer(request.tokens));
      if let Some(within) = request.cancelled_within {
        bench.fake.with(|state| state.cancels.push((state.polls + within, ticket.cancel.clone())));
      }
      for _ in 0..request.steps {
        bench.scheduler.step();
      }
      tickets.push(ticket);
    }
    bench.drain();
    for (request, ticket) in wanted.iter().zip(tickets) {
      prop_assert_eq!(ticket.inbox.endings(), 1);
      if ticket.inbox.failed() {
        prop_assert!(request.prompt.len_cells() >= setup.context);
      } else if ticket.inbox.finished().reason != FinishReason::Cancelled {
        prop_assert_eq!(ticket.inbox.outcome(), solo_of(setup, &request.prompt, answer(request.tokens)));
      }
    }
  }
}
