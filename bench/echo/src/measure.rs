//! The figures of a scene.

use crate::corpus::scene::{Kind, RATE, Scene};
use crate::engines::silent;

/// What the four figures of a kind are.
pub fn names(kind: Kind) -> &'static str {
  match kind {
    Kind::PathChange => "ERLE dB: 2-4 s | last 4 s before | 0-3 s after | 3-5 s after",
    Kind::DoubleTalk | Kind::DoubleTalkDistorted | Kind::DoubleTalkFromStart | Kind::FarSilent => {
      "SI-SDR dB: raw | output | without double talk | loss"
    }
    _ => "ERLE dB: 0-2 s | 2-4 s | 4-10 s | 10-20 s",
  }
}

pub fn figures(kind: Kind, scene: &Scene, output: &[f32], linear: &[f32]) -> [f64; 4] {
  let erle = |from: f64, to: f64| {
    let range = (from * RATE as f64) as usize..(to * RATE as f64) as usize;
    let mic: Vec<f32> = scene.microphone()[range.clone()].to_vec();
    10.0 * (energy(&mic) / energy(&output[range]).max(1e-12)).log10()
  };
  match kind {
    Kind::PathChange => [erle(2.3, 4.3), erle(6.0, 10.0), erle(10.0, 13.0), erle(13.0, 15.0)],
    Kind::DoubleTalk | Kind::DoubleTalkDistorted | Kind::DoubleTalkFromStart | Kind::FarSilent => {
      let talk = scene.talk.clone();
      let clean = &scene.speech[talk.clone()];
      let raw = si_sdr(clean, &scene.microphone()[talk.clone()]);
      let own = si_sdr(clean, &output[talk.clone()]);
      let best = if std::ptr::eq(output.as_ptr(), linear.as_ptr()) {
        let alone: Vec<f32> = silent(scene).iter().zip(&scene.speech).map(|(a, b)| a + b).collect();
        si_sdr(clean, &alone[talk])
      } else {
        own
      };
      [raw, own, best, best - own]
    }
    _ => [erle(0.3, 2.3), erle(2.3, 4.3), erle(4.0, 10.0), erle(10.0, 20.0)],
  }
}

fn energy(samples: &[f32]) -> f64 {
  samples.iter().map(|sample| f64::from(*sample).powi(2)).sum()
}

fn si_sdr(clean: &[f32], heard: &[f32]) -> f64 {
  let product: f64 = clean.iter().zip(heard).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
  let scale = product / energy(clean);
  let error: f64 =
    clean.iter().zip(heard).map(|(a, b)| (f64::from(*a) * scale - f64::from(*b)).powi(2)).sum();
  10.0 * (scale * scale * energy(clean) / error).log10()
}

/// Median and worst of each figure.
pub fn summary(rows: &[[f64; 4]]) -> String {
  (0..4)
    .map(|column| {
      let mut values: Vec<f64> = rows.iter().map(|row| row[column]).collect();
      values.sort_by(f64::total_cmp);
      format!("{:6.1} ({:5.1}..{:5.1})", values[values.len() / 2], values[0], values[values.len() - 1])
    })
    .collect::<Vec<_>>()
    .join(" | ")
}
