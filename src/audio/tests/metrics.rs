//! The metrics give the numbers of the implementations that the field uses (`fixtures/metrics.py`).

#![allow(clippy::cast_possible_truncation)]

use local_inference_audio::metrics::{
  Scoring, Turn, diarization_errors, equal_error_rate, erle_db, si_sdr_db, word_errors,
};
use serde_json::Value;

fn cases(name: &str) -> Vec<Value> {
  let all: Value = serde_json::from_str(include_str!("fixtures/metrics.json")).expect("the fixture is JSON");
  let cases = all[name].as_array().expect("a list of cases").clone();
  assert!(!cases.is_empty());
  cases
}

fn number(value: &Value) -> f64 {
  value.as_f64().expect("a number")
}

fn numbers(value: &Value) -> Vec<f64> {
  value.as_array().expect("a list").iter().map(number).collect()
}

fn samples(value: &Value) -> Vec<f32> {
  numbers(value).into_iter().map(|sample| sample as f32).collect()
}

fn close(ours: f64, theirs: f64, tolerance: f64, what: &str) {
  assert!((ours - theirs).abs() <= tolerance, "{what}: {ours}, not {theirs}");
}

#[test]
fn word_error_rates_are_jiwers() {
  for case in cases("words") {
    let words = |name: &str| -> Vec<String> { serde_json::from_value(case[name].clone()).expect("words") };
    let errors = word_errors(&words("said"), &words("written"));
    assert_eq!(errors.errors() as u64, case["errors"].as_u64().expect("a count"), "{case}");
    close(errors.rate().expect("something was said"), number(&case["rate"]), 1e-12, "word error rate");
  }
}

fn turns(value: &Value) -> Vec<Turn> {
  let turn = |turn: &Value| Turn {
    time: number(&turn[0])..number(&turn[1]),
    speaker: turn[2].as_str().expect("a name").to_owned(),
  };
  value.as_array().expect("a list").iter().map(turn).collect()
}

#[test]
fn diarization_error_rates_are_pyannotes() {
  for case in cases("diarization") {
    let stretch = |part: &Value| number(&part[0])..number(&part[1]);
    let scoring = Scoring {
      collar: number(&case["collar"]),
      skip_overlap: case["skip_overlap"].as_bool().expect("yes or no"),
      scored: case["scored"].as_array().map(|parts| parts.iter().map(stretch).collect()),
    };
    let errors =
      diarization_errors(&turns(&case["truth"]), &turns(&case["found"]), &scoring).expect("sound turns");
    close(errors.total, number(&case["total"]), 1e-6, "total");
    close(errors.missed, number(&case["missed"]), 1e-6, "missed");
    close(errors.false_alarm, number(&case["false_alarm"]), 1e-6, "false alarm");
    close(errors.confusion, number(&case["confusion"]), 1e-6, "confusion");
    close(errors.rate().expect("somebody spoke"), number(&case["rate"]), 1e-6, "diarization error rate");
  }
}

#[test]
fn equal_error_rates_lie_on_scikit_learns_curve() {
  for case in cases("decisions") {
    let rate = equal_error_rate(&numbers(&case["genuine"]), &numbers(&case["others"])).expect("scores");
    close(rate, number(&case["rate"]), 1e-9, "equal error rate");
  }
}

#[test]
fn ratios_of_signals_are_the_least_squares_ones() {
  for case in cases("signals") {
    let clean = samples(&case["clean"]);
    let sdr = si_sdr_db(&clean, &samples(&case["heard"])).expect("signals");
    close(sdr, number(&case["si_sdr"]), 1e-3, "SI-SDR");
    close(erle_db(&clean, &samples(&case["left"])).expect("signals"), number(&case["erle"]), 1e-3, "ERLE");
  }
}

#[test]
fn input_that_has_no_figure_is_refused() {
  let turn = Turn { time: 2.0..1.0, speaker: "anna".into() };
  assert!(diarization_errors(&[turn], &[], &Scoring::default()).is_err());
  assert!(diarization_errors(&[], &[], &Scoring { collar: f64::NAN, ..Scoring::default() }).is_err());
  assert!(equal_error_rate(&[], &[1.0]).is_err());
  assert!(equal_error_rate(&[f64::NAN], &[1.0]).is_err());
  assert!(si_sdr_db(&[1.0], &[1.0, 2.0]).is_err());
  assert!(si_sdr_db(&[0.0], &[1.0]).is_err());
  assert!(erle_db(&[0.0], &[0.0]).is_err());
  assert_eq!(equal_error_rate(&[2.0, 3.0], &[0.0, 1.0]), Ok(0.0));
  assert_eq!(equal_error_rate(&[0.0], &[1.0]), Ok(1.0));
}
