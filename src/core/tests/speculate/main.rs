//! The window controller on machines and texts whose best answer is known.

mod limits;
mod machine;

use local_inference_core::speculate::{Acceptance, Account, Beside, Choice, Costs, Window};
use machine::{
  Context, Machine, Random, cpu, fixed, gpu, limits, lopsided, run, run_against, steep, text, zen4,
  zen4_draft_model, zen4_f16,
};

const TOKENS: usize = 2_000;
const RATES: [f64; 7] = [1.0, 0.9, 0.8, 0.65, 0.5, 0.25, 0.0];

fn machines() -> [(&'static str, Machine); 5] {
  [("cpu", cpu()), ("gpu", gpu()), ("steep", steep()), ("zen4", zen4()), ("zen4, f16", zen4_f16())]
}

fn best_fixed(machine: &Machine, text: &[bool], max: usize) -> f64 {
  (1..=max).map(|window| run(machine, fixed(window), text).speed_up()).fold(1.0, f64::max)
}

const SEEDS: u64 = 2;

/// Speed beside the best fixed window, over several texts with the same rate; `worst` is the least speed-up among them.
fn beside_the_best(machine: &Machine, clock: &Machine, rate: f64) -> (f64, f64) {
  let (mut ours, mut best, mut worst) = (0.0, 0.0, f64::INFINITY);
  for seed in 0..SEEDS {
    let text = text(rate, TOKENS, 100 + seed);
    let speed = run(clock, limits(1, 8), &text).speed_up();
    ours += speed;
    best += best_fixed(machine, &text, 8);
    worst = worst.min(speed);
  }
  (ours / best, worst)
}

#[test]
fn a_text_of_one_kind_is_nearly_as_fast_as_with_the_best_window() {
  for (name, machine) in machines() {
    for rate in RATES {
      let (share, _) = beside_the_best(&machine, &machine, rate);
      assert!(share >= 0.955, "{name} at {rate}: {share:.3} of the best window's speed");
    }
  }
}

/// Answers are short: what one has taught and earned serves the next.
#[test]
fn short_answers_of_one_context_are_nearly_as_fast_as_with_the_best_window() {
  const ANSWER: usize = 150;
  for (name, machine) in machines() {
    for rate in RATES {
      let answers: Vec<_> = (0..10).map(|seed| text(rate, ANSWER, seed)).collect();
      let mut context = Context::default();
      let mut answer =
        |text: &[bool]| context.generate(&machine, limits(1, 8), ANSWER, |at, _| text[at]).time;
      let first = answer(&answers[0]);
      assert!(first < 150.0 / 0.96, "{name} at {rate}: {first:.1} plain steps for the first answer");
      let ours: f64 = answers[1..].iter().map(|text| answer(text)).sum();
      let with =
        |window| answers[1..].iter().map(|text| run(&machine, fixed(window), text).time).sum::<f64>();
      let best = (1..=8).map(with).fold(150.0 * 9.0, f64::min);
      assert!(ours * 0.94 <= best, "{name} at {rate}: {ours:.1} plain steps, with the best window {best:.1}");
    }
  }
}

#[test]
fn noise_and_hiccups_of_the_clock_do_not_mislead_it() {
  for (name, machine) in machines() {
    let uneven = Machine { noise: 0.05, ..machine.clone() };
    let busy = Machine { noise: 0.15, hiccup: Some(23), ..machine.clone() };
    for rate in RATES {
      let (share, _) = beside_the_best(&machine, &uneven, rate);
      assert!(share >= 0.95, "{name} at {rate}: {share:.3} of the best window's speed");
      let (share, worst) = beside_the_best(&machine, &busy, rate);
      assert!(share >= 0.88, "{name} at {rate}: {share:.3} of the best window's speed on a busy machine");
      assert!(worst >= 0.97, "{name} at {rate}: {worst:.3} on a busy machine");
    }
  }
}

#[test]
fn a_useless_drafter_costs_less_than_three_percent() {
  for (name, machine) in machines() {
    for (rate, tokens) in [(0.0, 150), (0.0, 2_000), (0.1, 2_000), (0.2, 5_000)] {
      let run = run(&machine, limits(1, 8), &text(rate, tokens, 3));
      assert!(run.speed_up() > 0.97, "{name}, {tokens} tokens at {rate}: {:.3}", run.speed_up());
    }
  }
}

#[test]
fn a_machine_on_which_short_drafts_never_pay_loses_next_to_nothing() {
  for rate in [0.2, 0.5, 0.8, 0.9, 1.0] {
    let run = run(&lopsided(), limits(1, 8), &text(rate, TOKENS, 3));
    assert!(run.speed_up() > 0.975, "{rate}: {:.3}", run.speed_up());
  }
}

#[test]
fn the_drafter_as_an_enemy_costs_less_than_three_percent() {
  let tokens = 3_000;
  for (name, machine) in machines() {
    // Right whenever it is only looked at, wrong whenever it is relied on.
    let trap = run_against(&machine, limits(1, 8), tokens, |_, window| window == 0);
    assert!(trap.speed_up() > 0.97, "{name}: {:.3}", trap.speed_up());
    // Right until long drafts are trusted.
    let lure = run_against(&machine, limits(1, 8), tokens, |_, window| window < 3);
    assert!(lure.speed_up() > 0.97, "{name}: {:.3}", lure.speed_up());
  }
}

/// Stretches of `length` tokens on which the drafter is right, and on which it is wrong, in turn.
fn alternating(length: usize, tokens: usize) -> Vec<bool> {
  (0..tokens).map(|token| (token / length).is_multiple_of(2)).collect()
}

#[test]
fn a_change_of_the_text_shows_within_32_tokens() {
  for (name, machine) in machines() {
    let run = run(&machine, limits(1, 8), &alternating(200, TOKENS));
    for stretch in 1..TOKENS / 200 {
      let start = stretch * 200;
      let settled = &run.windows[start + 32..start + 200];
      let drafting = settled.iter().filter(|&&window| window > 0).count();
      if stretch.is_multiple_of(2) {
        assert!(run.windows[start..start + 32].iter().any(|&window| window > 0), "{name}: stretch {stretch}");
        assert!(
          drafting > 150,
          "{name}: {drafting} tokens of stretch {stretch} were drafted {:?}",
          &run.windows[start..start + 200]
        );
      } else {
        assert!(drafting < 12, "{name}: {drafting} tokens of stretch {stretch} were drafted");
      }
    }
  }
}

#[test]
fn alternating_texts_gain_on_the_good_stretches_and_lose_nothing_on_the_bad_ones() {
  for (name, machine) in machines() {
    for length in [8, 30, 120, 500] {
      let run = run(&machine, limits(1, 8), &alternating(length, 4_000));
      let least = if length >= 120 { 1.1 } else { 0.97 };
      assert!(run.speed_up() > least, "{name}, stretches of {length}: {:.3}", run.speed_up());
    }
  }
}

#[test]
fn any_text_on_any_machine_costs_less_than_three_percent() {
  let mut random = Random(5);
  for case in 0..300 {
    let mut decode = vec![1.0];
    for _ in 0..8 {
      // Mostly upwards, with the steps that block sizes make.
      decode.push(decode.last().unwrap() + 1.2 * random.next() - 0.15);
    }
    let machine = Machine {
      decode,
      draft: 0.4 * random.next() * random.next(),
      hiccup: None,
      noise: 0.0,
      ..Machine::default()
    };
    let mut rate = random.next();
    let text: Vec<bool> = (0..1_500)
      .map(|_| {
        if random.next() < 0.01 {
          rate = random.next();
        }
        random.next() < rate
      })
      .collect();
    let run = run(&machine, limits(1, 8), &text);
    assert!(run.speed_up() > 0.97, "case {case}: {:.3} on {machine:?}", run.speed_up());
  }
}

/// Plain steps of answers with `rate`, one after the other in one context, beside those of plain decoding.
fn answers_with_reading(machine: &Machine, rate: f64) -> f64 {
  const ANSWERS: u64 = 12;
  const TOKENS: usize = 160;
  let mut context = Context::default();
  let times = (0..ANSWERS).map(|seed| {
    let text = text(rate, TOKENS, seed);
    context.generate(machine, limits(1, 8), TOKENS, |at, _| text[at]).time
  });
  #[allow(clippy::cast_precision_loss, reason = "small numbers")]
  let plain = TOKENS as f64 * ANSWERS as f64;
  times.sum::<f64>() / plain
}

#[test]
fn what_a_drafter_has_to_read_is_no_loss_beyond_three_percent() {
  for rate in [1.0, 0.8, 0.5, 0.0] {
    let time = answers_with_reading(&zen4_draft_model(), rate);
    assert!(time < 1.03, "{rate}: {time:.3} of the time of plain decoding");
  }
}

#[test]
fn nothing_is_probed_where_no_draft_could_pay() {
  let (machine, mut context) = (zen4_draft_model(), Context::default());
  let times: Vec<_> =
    (0..16).map(|_| context.generate(&machine, limits(1, 8), 160, |_, _| true).time).collect();
  assert!(times[12..].iter().sum::<f64>() < 4.0 * 160.5, "{times:.1?} plain steps");
}

#[test]
fn reading_a_long_prompt_is_worth_it_where_drafts_are_right() {
  let machine = Machine { reading: 0.03, prompt: 500, ..gpu() };
  let time = answers_with_reading(&machine, 0.9);
  // 15 plain steps are read for each answer of 160 tokens.
  let best = best_fixed(&gpu(), &text(0.9, 2_000, 1), 8);
  assert!(time < 1.0 / best + 15.0 / 160.0 + 0.06, "{time:.3} of plain decoding, at best {:.3}", 1.0 / best);
}

#[test]
fn others_in_the_batch_make_a_draft_cheaper_or_dearer() {
  // Up to eight rows a decode costs next to nothing more, then each row costs a whole step.
  let mut costs = Costs::new();
  for _ in 0..4 {
    costs.decoded(1, 1.0);
    costs.decoded(8, 1.2);
    costs.decoded(1, 1.0);
    costs.decoded(16, 9.2);
  }
  let choose = |rows: usize, tokens: f64| {
    let mut window = Window::new(limits(1, 4), Some(&Acceptance::new(0.9)));
    let mut step = || window.choose(&costs, &mut Account::new(), Beside { rows, tokens }, 100, 0);
    (0..4).any(|_| matches!(step(), Choice::Draft(_)))
  };
  assert!(choose(2, 2.0));
  assert!(!choose(8, 8.0));
}
