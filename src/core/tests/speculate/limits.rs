//! Limits of windows, and what one generation leaves to the next.

use local_inference_core::speculate::{Acceptance, Account, Beside, Choice, Costs, Window, expected_tokens};

use super::best_fixed;
use super::machine::{Context, cpu, fixed, gpu, limits, run, text, zen4};

#[test]
fn limits_are_kept() {
  let text = text(0.9, 600, 1);
  for (min, max) in [(1, 1), (2, 4), (3, 3), (5, 16)] {
    let run = run(&gpu(), limits(min, max), &text);
    assert!(run.windows.iter().all(|&window| window == 0 || (min..=max).contains(&window)), "{min} to {max}");
    assert!(run.windows.iter().any(|&window| window > 0), "{min} to {max}");
  }
  let run = run(&cpu(), fixed(4), &text);
  assert!(run.windows[..590].iter().all(|&window| window == 4));
}

#[test]
fn no_draft_is_longer_than_there_is_room() {
  let mut window = Window::new(fixed(8), None);
  assert_eq!(window.choose(&Costs::new(), &mut Account::new(), Beside::default(), 3, 0), Choice::Draft(3));
  assert_eq!(window.choose(&Costs::new(), &mut Account::new(), Beside::default(), 0, 0), Choice::Plain);
  let mut window = Window::new(limits(4, 8), None);
  assert!(
    (0..50)
      .all(|_| window.choose(&Costs::new(), &mut Account::new(), Beside::default(), 3, 0) == Choice::Plain)
  );
}

#[test]
fn what_an_earlier_generation_learned_saves_the_first_loss() {
  let mut costs = Costs::new();
  for _ in 0..4 {
    costs.decoded(1, 1.0);
    costs.decoded(2, 1.3);
  }
  let (mut window, mut account) = (Window::new(limits(1, 4), Some(&Acceptance::new(0.05))), Account::new());
  let drafts = (0..20).filter(|_| {
    let step = window.choose(&costs, &mut account, Beside::default(), 100, 0);
    window.decoded(&mut account);
    matches!(step, Choice::Draft(_))
  });
  assert_eq!(drafts.count(), 0);
}

#[test]
fn what_fixed_windows_lose_is_not_charged_to_adaptive_ones() {
  let (machine, mut context) = (zen4(), Context::default());
  let text = text(0.8, 160, 3);
  for window in 1..=8 {
    context.generate(&machine, fixed(window), text.len(), |at, _| text[at]);
  }
  let adaptive = context.generate(&machine, limits(1, 8), text.len(), |at, _| text[at]).speed_up();
  let best = best_fixed(&machine, &text, 8);
  assert!(best > 1.05 && adaptive > 0.95 * best, "{adaptive:.3} beside {best:.3}");
}

#[test]
fn the_expected_tokens_are_those_of_the_geometric_series() {
  let rate: f64 = 0.8;
  for window in 0_u8..8 {
    let series = (1.0 - rate.powi(i32::from(window) + 1)) / (1.0 - rate);
    assert!((expected_tokens(&vec![rate; window.into()]) - series).abs() < 1e-12);
  }
}
