//! Drafts do not change how tokens are distributed.

use super::*;

/// The class of a token: what follows depends on nothing else.
fn class(model: &Model, token: Token) -> usize {
  let text = model.token_text(token);
  let word =
    text.strip_prefix(" w").filter(|digits| digits.len() == 3).and_then(|digits| digits.parse().ok());
  word.unwrap_or(usize::try_from(token).unwrap() % CYCLE)
}

fn ends_text(model: &Model, token: usize) -> bool {
  model.vocabulary().is_end(Token::try_from(token).unwrap())
}

/// Pearson's statistic of `counts` against the probabilities.
fn chi_square(counts: &[f64], probabilities: &[f64]) -> f64 {
  let total: f64 = counts.iter().sum();
  counts.iter().zip(probabilities).map(|(count, p)| (count - total * p).powi(2) / (total * p)).sum()
}

/// At a temperature the right token has a known probability and all others share the rest alike. With drafts, at drafted
/// places and after them, the draws must be distributed so.
#[allow(clippy::cast_precision_loss, reason = "counts are small")]
pub(super) fn assert_distributed(model: &Model, mut context: Context, logit: f64, drawn: bool) {
  const BINS: usize = 16;
  const TEMPERATURE: f32 = 2.4;
  let vocabulary = model.vocabulary_size() as usize;
  let weight = (logit / f64::from(TEMPERATURE)).exp();
  // Tokens that end a text are ruled out.
  let ends = (0..vocabulary).filter(|&token| ends_text(model, token)).count();
  let rest = (vocabulary - 1 - ends) as f64;
  let mut options = GenerateOptions { ignore_eos: true, ..GenerateOptions::default() };
  let sampling = &mut options.sampling;
  (sampling.temperature, sampling.top_k, sampling.top_p, sampling.min_p) = (TEMPERATURE, 0, 1.0, 0.0);
  let (mut right, mut wrong, mut tokens) = (0.0, vec![0.0; BINS], 0);
  let mut accepted = 0;
  for round in 0..25_u32 {
    context.clear_all();
    let mut texts: Vec<_> = (0..4)
      .map(|sequence| {
        let seed = 1_000 + 4 * round + sequence;
        options.sampling.seed = Some(seed);
        let text = Text::sampled(model, &context, sequence.cast_signed(), "hello w003", 201, &options);
        Text { draw: drawn.then_some(Draw { temperature: TEMPERATURE, seed }), ..text }
      })
      .collect();
    start(&mut context, &mut texts);
    accepted += go_on(&mut context, &mut texts, 2).accepted;
    for text in &texts {
      let tail = &text.history[text.wanted - 201..];
      for pair in tail.windows(2) {
        let next = (class(model, pair[0]) + 1) % CYCLE;
        // Words beyond the circle lead elsewhere.
        if class(model, pair[0]) >= CYCLE {
          continue;
        }
        tokens += 1;
        if model.token_text(pair[1]) == format!(" w{next:03}") {
          right += 1.0;
        } else {
          wrong[usize::try_from(pair[1]).unwrap() % BINS] += 1.0;
        }
      }
    }
  }
  assert!(tokens > 19_000, "{tokens}");
  let p = weight / (weight + rest);
  let counts: Vec<f64> = std::iter::once(right).chain(wrong).collect();
  let share =
    |bin: usize| (vocabulary / BINS + usize::from(bin < vocabulary % BINS)) as f64 / vocabulary as f64;
  let expected: Vec<f64> = std::iter::once(p).chain((0..BINS).map(|bin| (1.0 - p) * share(bin))).collect();
  let statistic = chi_square(&counts, &expected);
  // 16 degrees of freedom: 39.3 is exceeded once in a thousand times; the seeds are fixed.
  assert!(statistic < 39.3, "{statistic}: {counts:?} of {tokens}, expected {p} right");
  assert!(accepted > 0);
}

fn assert_the_targets_distribution(drafter: &str, drawn: bool) {
  let model = load("target.gguf");
  // The softcap leaves less of it.
  let logit = 30.0 * (20.0_f64 / 30.0).tanh();
  assert_distributed(&model, open(&model, 4, Some((drafter, 2))), logit, drawn);
}

/// Four successors are about as likely as each other, for the target and for the drafter: drawn alike, most drafts are
/// kept, while the one that the drafter finds likeliest is the one that is sampled in a quarter of the cases.
#[test]
fn drawn_drafts_are_kept_more_often_than_likely_ones_are_matched() {
  let model = load("history.gguf");
  let accepted = |drawn: bool| {
    let mut options = GenerateOptions { ignore_eos: true, ..GenerateOptions::default() };
    let temperature = options.sampling.temperature;
    let mut context = open(&model, 4, Some(("drafter-history.gguf", 1)));
    let mut texts: Vec<_> = (0..4_u32)
      .map(|seed| {
        options.sampling.seed = Some(seed);
        let text = Text::sampled(&model, &context, seed.cast_signed(), "hello w003", 200, &options);
        Text { draw: drawn.then_some(Draw { temperature, seed }), ..text }
      })
      .collect();
    start(&mut context, &mut texts);
    let count = go_on(&mut context, &mut texts, 1);
    count.accepted * 100 / count.drafted
  };
  let (matched, kept) = (accepted(false), accepted(true));
  assert!(matched < 35 && kept > 60, "{matched} % and {kept} %");
}

#[test]
fn tokens_compared_with_drafts_have_the_targets_distribution() {
  assert_the_targets_distribution("drafter-100.gguf", false);
}

#[test]
fn tokens_kept_of_drawn_drafts_have_the_targets_distribution() {
  assert_the_targets_distribution("drafter-100.gguf", true);
  // What is drafted is mostly not what the target prefers: nearly every token is drawn again.
  assert_the_targets_distribution("drafter-50.gguf", true);
}
