//! The rules of segments, with probabilities made up and a clock that only counts.

use local_inference_audio::vad::{Change, SegmentRules, Segmenter};
use proptest::prelude::*;

const RATE: u64 = 16_000;
const WINDOW: u64 = 512;

fn ms(milliseconds: u64) -> u64 {
  milliseconds * RATE / 1000
}

fn rules() -> SegmentRules {
  SegmentRules::new(RATE as u32)
}

/// Changes of a stream: pairs of a probability and how many windows have it.
fn changes(rules: SegmentRules, stream: &[(f32, u64)]) -> Vec<Change> {
  let mut segmenter = Segmenter::new(rules).expect("the rules are sound");
  let mut out = Vec::new();
  for (probability, count) in stream {
    for _ in 0..*count {
      segmenter.push(*probability, WINDOW, |change| out.push(change));
    }
  }
  segmenter.finish(|change| out.push(change));
  out
}

#[test]
fn speech_between_silence_is_one_segment_with_sound_before_and_after() {
  let speech = 50 * WINDOW..90 * WINDOW;
  assert_eq!(
    changes(rules(), &[(0.1, 50), (0.9, 40), (0.1, 50)]),
    [
      Change::Started { start: speech.start - ms(300), speech: speech.start },
      Change::Ended { sound: speech.start - ms(300)..speech.end + ms(200), speech, cut: false },
    ]
  );
}

#[test]
fn a_start_is_told_once_the_minimum_of_speech_was_heard() {
  let mut segmenter = Segmenter::new(rules()).expect("the rules are sound");
  let mut told = None;
  for window in 1..=20 {
    segmenter.push(0.9, WINDOW, |_| told = Some(window));
    if told.is_some() {
      break;
    }
  }
  // 250 ms are eight windows of 32.
  assert_eq!(told, Some(8));
  assert!(segmenter.is_speaking());
}

#[test]
fn what_is_shorter_than_the_minimum_is_dropped() {
  let speech = 20 * WINDOW..27 * WINDOW;
  assert_eq!(changes(rules(), &[(0.1, 20), (0.9, 7), (0.1, 50)]), [Change::Dropped { speech }]);
}

#[test]
fn between_offset_and_onset_speech_goes_on_but_does_not_begin() {
  assert_eq!(changes(rules(), &[(0.45, 100)]), []);
  let all = changes(rules(), &[(0.6, 10), (0.4, 100)]);
  assert!(
    matches!(all.last(), Some(Change::Ended { speech, .. }) if *speech == (0..110 * WINDOW)),
    "{all:?}"
  );
}

#[test]
fn a_pause_shorter_than_the_hang_over_does_not_end_a_segment() {
  let ended = |pause| changes(rules(), &[(0.9, 30), (0.1, pause), (0.9, 30), (0.1, 40)]).len();
  // 700 ms are 21.9 windows.
  assert_eq!((ended(21), ended(22)), (2, 4));
}

#[test]
fn segments_share_no_sample() {
  let all =
    changes(SegmentRules { pre_roll: ms(1000), ..rules() }, &[(0.9, 30), (0.1, 22), (0.9, 30), (0.1, 40)]);
  let Change::Ended { sound, .. } = &all[1] else { panic!("{all:?}") };
  assert!(matches!(&all[2], Change::Started { start, .. } if *start == sound.end), "{all:?}");
}

#[test]
fn a_segment_that_grows_too_long_is_cut_at_its_quietest_window_without_a_hole() {
  let rules = SegmentRules { longest: ms(10_000), ..rules() };
  // 10 s are 312.5 windows; the pause is in the second half.
  let all = changes(rules, &[(0.9, 200), (0.6, 1), (0.9, 30), (0.4, 2), (0.9, 150), (0.1, 40)]);
  let cut_at = 233 * WINDOW;
  assert!(matches!(&all[1], Change::Ended { sound, cut: true, .. } if sound.end == cut_at), "{all:?}");
  assert_eq!(all[2], Change::Started { start: cut_at, speech: cut_at });
  assert!(matches!(&all[3], Change::Ended { sound, cut: false, .. } if sound.start == cut_at), "{all:?}");
}

#[test]
fn a_stream_that_ends_while_somebody_speaks_ends_the_segment_there() {
  let all = changes(rules(), &[(0.9, 30)]);
  assert!(matches!(&all[1], Change::Ended { sound, .. } if *sound == (0..30 * WINDOW)), "{all:?}");
}

#[test]
fn rules_that_contradict_each_other_are_refused() {
  for wrong in [
    SegmentRules { onset: 1.5, ..rules() },
    SegmentRules { onset: f32::NAN, ..rules() },
    SegmentRules { offset: 0.6, ..rules() },
    SegmentRules { post_roll: ms(800), ..rules() },
    SegmentRules { longest: ms(1000), ..rules() },
  ] {
    Segmenter::new(wrong).expect_err("refused");
  }
}

proptest! {
  #[test]
  fn segments_are_in_order_within_the_longest_and_cover_all_confirmed_speech(
    stream in prop::collection::vec((0.0f32..1.0, 1u64..60), 0..60),
  ) {
    let rules = SegmentRules { longest: ms(5_000), ..rules() };
    let (mut open, mut end) = (None, 0);
    for change in changes(rules, &stream) {
      match change {
        Change::Started { start, speech } => {
          prop_assert!(open.is_none() && start >= end && start <= speech);
          open = Some(start);
        }
        Change::Ended { sound, speech, .. } => {
          prop_assert_eq!(open.take(), Some(sound.start));
          prop_assert!(sound.start <= speech.start && speech.end <= sound.end);
          prop_assert!(sound.end - sound.start <= rules.longest + WINDOW);
          end = sound.end;
        }
        Change::Dropped { speech } => prop_assert!(open.is_none() && speech.end - speech.start < ms(5_000)),
      }
    }
    prop_assert!(open.is_none());
  }
}
