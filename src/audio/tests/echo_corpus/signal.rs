//! Sounds: speech-like and musical ones that need no recording, and what is done to sounds on their way.

use std::f64::consts::PI;

use realfft::RealFftPlanner;

use super::random::Random;

const RATE: f64 = 16_000.0;

/// Something like speech: voiced and unvoiced syllables of random pitch and resonances, with pauses.
pub fn babble(random: &mut Random, length: usize) -> Vec<f32> {
  let mut out = Vec::with_capacity(length + 8000);
  let pitch = random.within(90.0, 220.0);
  while out.len() < length {
    if random.within(0.0, 1.0) < 0.12 {
      out.resize(out.len() + random.within(1600.0, 6400.0) as usize, 0.0);
    }
    syllable(random, pitch, &mut out);
  }
  out.truncate(length);
  out
}

fn syllable(random: &mut Random, pitch: f64, out: &mut Vec<f32>) {
  let length = random.within(1200.0, 4000.0) as usize;
  let voiced = random.within(0.0, 1.0) < 0.75;
  let start = pitch * random.within(0.8, 1.25);
  let end = pitch * random.within(0.8, 1.25);
  let (low, high) = if voiced { (300.0, 900.0) } else { (1800.0, 3500.0) };
  let mut resonances = [
    Resonator::new(random.within(low, high), 80.0),
    Resonator::new(random.within(900.0, 2400.0), 120.0),
    Resonator::new(random.within(2400.0, 3600.0), 200.0),
  ];
  let mut phase = 0.0;
  for at in 0..length {
    let share = at as f64 / length as f64;
    phase += (start + (end - start) * share) / RATE;
    let pulse = if phase >= 1.0 { 8.0 } else { 0.0 };
    phase -= phase.floor();
    let source = if voiced { pulse + 0.05 * random.normal() } else { 0.6 * random.normal() };
    let sound: f64 =
      resonances.iter_mut().map(|resonance| resonance.push(source)).sum::<f64>() + 0.02 * random.normal();
    out.push((sound * (PI * share).sin().sqrt()) as f32);
  }
}

struct Resonator {
  a: f64,
  b: f64,
  gain: f64,
  last: [f64; 2],
}

impl Resonator {
  fn new(frequency: f64, width: f64) -> Self {
    let radius = (-PI * width / RATE).exp();
    let a = 2.0 * radius * (2.0 * PI * frequency / RATE).cos();
    Self { a, b: -radius * radius, gain: 1.0 - radius, last: [0.0; 2] }
  }

  fn push(&mut self, input: f64) -> f64 {
    let output = self.gain * input + self.a * self.last[0] + self.b * self.last[1];
    self.last = [output, self.last[0]];
    output
  }
}

/// Chords of decaying harmonic notes over a beat of noise.
pub fn music(random: &mut Random, length: usize) -> Vec<f32> {
  let mut out = vec![0.0f32; length];
  let beat = random.within(0.25, 0.5);
  let root = random.within(110.0, 220.0);
  for start in
    (0..).map(|beat_index| (f64::from(beat_index) * beat * RATE) as usize).take_while(|at| *at < length)
  {
    for _ in 0..3 {
      let tone = root * 2f64.powf([0, 2, 4, 5, 7, 9, 11, 12][random.index(8)] as f64 / 12.0);
      for (at, out) in out[start..].iter_mut().take(16_000).enumerate() {
        let time = at as f64 / RATE;
        let note: f64 = (1..8)
          .map(|harmonic| {
            (2.0 * PI * tone * f64::from(harmonic) * time).sin() / f64::from(harmonic).powf(1.2)
          })
          .sum();
        *out += (note * (-3.0 * time).exp() * (time * 200.0).min(1.0)) as f32;
      }
    }
    for (at, out) in out[start..].iter_mut().take(1600).enumerate() {
      *out += (random.normal() * (at as f64 / -300.0).exp()) as f32;
    }
  }
  out
}

/// Root mean square of the parts that are not silent.
pub fn level(samples: &[f32]) -> f32 {
  let frames: Vec<f32> =
    samples.chunks(160).map(|frame| frame.iter().map(|s| s * s).sum::<f32>() / frame.len() as f32).collect();
  let loudest = frames.iter().copied().fold(0.0, f32::max);
  let heard: Vec<f32> = frames.into_iter().filter(|power| *power > loudest * 1e-3).collect();
  (heard.iter().sum::<f32>() / heard.len().max(1) as f32).sqrt()
}

/// Scales to `decibels` below full scale.
pub fn set_level(samples: &mut [f32], decibels: f64) {
  let gain = 10f64.powf(decibels / 20.0) as f32 / level(samples).max(1e-9);
  samples.iter_mut().for_each(|sample| *sample *= gain);
}

/// `signal` through `response`, as long as `signal`.
pub fn convolve(signal: &[f32], response: &[f32]) -> Vec<f32> {
  let size = (signal.len() + response.len()).next_power_of_two();
  let mut planner = RealFftPlanner::<f32>::new();
  let (forward, inverse) = (planner.plan_fft_forward(size), planner.plan_fft_inverse(size));
  let transform = |samples: &[f32]| {
    let mut padded = samples.to_vec();
    padded.resize(size, 0.0);
    let mut bins = forward.make_output_vec();
    forward.process(&mut padded, &mut bins).expect("planned lengths");
    bins
  };
  let (mut bins, other) = (transform(signal), transform(response));
  bins.iter_mut().zip(&other).for_each(|(a, b)| *a = *a * *b / size as f32);
  (bins[0].im, bins[size / 2].im) = (0.0, 0.0);
  let mut out = vec![0.0; size];
  inverse.process(&mut bins, &mut out).expect("planned lengths");
  out.truncate(signal.len());
  out
}

/// `signal` as a clock hears it that runs `ppm` parts in a million slower.
pub fn drift(signal: &[f32], ppm: f64) -> Vec<f32> {
  const REACH: i64 = 24;
  (0..signal.len())
    .map(|index| {
      let position = index as f64 * (1.0 + ppm * 1e-6);
      let whole = position.floor() as i64;
      (whole - REACH + 1..=whole + REACH)
        .filter_map(|at| {
          let sample = *signal.get(usize::try_from(at).ok()?)?;
          let away = at as f64 - position;
          let sinc = if away.abs() < 1e-9 { 1.0 } else { (PI * away).sin() / (PI * away) };
          Some(f64::from(sample) * sinc * (0.5 + 0.5 * (PI * away / (REACH as f64 + 1.0)).cos()))
        })
        .sum::<f64>() as f32
    })
    .collect()
}

/// A small loudspeaker that is played too loud.
pub fn distort(samples: &mut [f32], hardness: f32) {
  let peak = 4.0 * level(samples).max(1e-9);
  for sample in samples {
    let driven = *sample / peak * hardness;
    *sample = driven.tanh() / hardness * peak;
  }
}
