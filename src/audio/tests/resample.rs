//! Sample rate conversion, judged by sines whose true result is known.

use local_inference_audio::resample::Resampler;
use proptest::prelude::*;
use std::f64::consts::TAU;

const RATES: [u32; 7] = [8_000, 11_025, 16_000, 22_050, 24_000, 44_100, 48_000];

fn pairs() -> impl Iterator<Item = (u32, u32)> {
  let there = RATES.into_iter().flat_map(|from| [16_000, 24_000].map(|to| (from, to)));
  let back = RATES.into_iter().flat_map(|to| [16_000, 24_000].map(|from| (from, to)));
  there.chain(back).filter(|(from, to)| from != to)
}

fn sine(frequency: f64, rate: u32, count: usize) -> Vec<f32> {
  (0..count).map(|index| (TAU * frequency * index as f64 / f64::from(rate)).sin() as f32).collect()
}

fn convert(from: u32, to: u32, samples: &[f32]) -> Vec<f32> {
  let mut resampler = Resampler::new(from, to).expect("both rates are common");
  let mut out = Vec::new();
  resampler.push(samples, &mut out);
  resampler.finish(&mut out);
  out
}

/// The part of a signal that its two ends do not reach.
fn middle(samples: &[f32]) -> &[f32] {
  &samples[samples.len() / 4..samples.len() * 3 / 4]
}

fn decibels(amplitude: f64) -> f64 {
  20.0 * amplitude.max(1e-12).log10()
}

fn rms(samples: impl Iterator<Item = f64> + Clone) -> f64 {
  let count = samples.clone().count() as f64;
  (samples.map(|value| value * value).sum::<f64>() / count).sqrt()
}

#[test]
fn what_both_rates_hold_comes_out_at_the_same_time_and_level() {
  for (from, to) in pairs() {
    let edge = 0.45 * f64::from(from.min(to));
    for part in [0.01, 0.1, 0.3, 0.5, 0.8, 0.95, 0.999] {
      let out = convert(from, to, &sine(edge * part, from, from as usize / 4));
      let wanted = sine(edge * part, to, out.len());
      let error = rms(middle(&out).iter().zip(middle(&wanted)).map(|(a, b)| f64::from(a - b)));
      let level = decibels(error / 0.5f64.sqrt());
      assert!(level < -58.0, "{from} to {to} Hz, {:.0} Hz: error {level:.1} dB", edge * part);
    }
  }
}

#[test]
fn what_the_lower_rate_cannot_hold_is_gone_by_80_db() {
  for (from, to) in pairs().filter(|(from, to)| from > to) {
    let nyquist = f64::from(to) / 2.0;
    let highest = f64::from(from) / 2.0;
    for step in 0..200 {
      let frequency = nyquist + (highest - nyquist) * f64::from(step) / 200.0;
      let out = convert(from, to, &sine(frequency, from, from as usize / 8));
      let level = decibels(rms(middle(&out).iter().map(|value| f64::from(*value))) / 0.5f64.sqrt());
      assert!(level < -80.0, "{from} to {to} Hz, {frequency:.0} Hz: {level:.1} dB");
    }
  }
}

#[test]
fn no_image_above_the_lower_rate_is_louder_than_80_db_below_the_tone() {
  for (from, to) in pairs().filter(|(from, to)| from < to) {
    for step in 0..40 {
      let frequency = 0.45 * f64::from(from) * (f64::from(step) + 0.5) / 40.0;
      let out = convert(from, to, &sine(frequency, from, from as usize / 4));
      let tone = rms(middle(&out).iter().map(|value| f64::from(*value)));
      let images = images_of(frequency, from, to);
      for image in images {
        let level = decibels(amplitude_at(middle(&out), image, to) / (tone * 2.0f64.sqrt()));
        assert!(level < -80.0, "{from} to {to} Hz, {frequency:.0} Hz: {level:.1} dB at {image:.0} Hz");
      }
    }
  }
}

/// Where the images of a tone lie: around the multiples of the lower rate.
fn images_of(frequency: f64, from: u32, to: u32) -> Vec<f64> {
  let rate = f64::from(from);
  let around = (1..8)
    .flat_map(|multiple| [f64::from(multiple) * rate - frequency, f64::from(multiple) * rate + frequency]);
  around.filter(|image| *image < f64::from(to) / 2.0).collect()
}

/// Amplitude of one frequency, by the windowed Fourier sum at it.
fn amplitude_at(samples: &[f32], frequency: f64, rate: u32) -> f64 {
  let count = samples.len() as f64;
  let (mut real, mut imaginary, mut total) = (0.0, 0.0, 0.0);
  for (index, sample) in samples.iter().enumerate() {
    // Blackman-Harris: side lobes at -92 dB.
    let turn = TAU * index as f64 / count;
    let window =
      0.358_75 - 0.488_29 * turn.cos() + 0.141_28 * (2.0 * turn).cos() - 0.011_68 * (3.0 * turn).cos();
    let angle = TAU * frequency * index as f64 / f64::from(rate);
    real += window * f64::from(*sample) * angle.cos();
    imaginary += window * f64::from(*sample) * angle.sin();
    total += window;
  }
  2.0 * real.hypot(imaginary) / total
}

#[test]
fn a_constant_stays_that_constant() {
  for (from, to) in pairs() {
    let out = convert(from, to, &vec![0.5; from as usize / 4]);
    assert!(middle(&out).iter().all(|value| (value - 0.5).abs() < 1e-6), "{from} to {to} Hz");
  }
}

proptest! {
  #[test]
  fn chunks_of_any_length_give_what_the_whole_gives(
    cuts in prop::collection::vec(0usize..3000, 1..12), from in 0usize..7, to in 0usize..7,
  ) {
    let (from, to) = (RATES[from], RATES[to]);
    let whole = sine(440.0, from, cuts.iter().sum());
    let mut resampler = Resampler::new(from, to).expect("both rates are common");
    let (mut out, mut rest) = (Vec::new(), whole.as_slice());
    for cut in cuts {
      let (now, later) = rest.split_at(cut);
      rest = later;
      let before = out.len();
      resampler.push(now, &mut out);
      prop_assert!(out.len() - before <= resampler.most_output(cut));
    }
    resampler.finish(&mut out);
    prop_assert_eq!(out.len() as u64, (whole.len() as u64 * u64::from(to)).div_ceil(u64::from(from)));
    prop_assert_eq!(&out, &convert(from, to, &whole));
    // A finished resampler is as good as new.
    let mut again = Vec::new();
    resampler.push(&whole, &mut again);
    resampler.finish(&mut again);
    prop_assert_eq!(again, out);
  }
}

#[test]
fn equal_rates_pass_samples_as_they_are() {
  let samples = sine(1000.0, 16_000, 1000);
  assert_eq!(convert(16_000, 16_000, &samples), samples);
}

#[test]
fn rates_that_no_filter_fits_are_refused_with_advice() {
  for (from, to) in [(0, 16_000), (16_000, 3_999), (192_001, 16_000), (47_999, 16_000)] {
    let error = Resampler::new(from, to).expect_err("refused").to_string();
    assert!(error.contains("Hz"), "{error}");
  }
}
