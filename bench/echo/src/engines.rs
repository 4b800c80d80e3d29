//! Runs a scene through each canceller.

use std::time::Instant;

use local_inference_audio::echo::{EchoCanceller, FRAME};
use sonora::{AudioProcessing, Config, StreamConfig, config};

use crate::corpus::scene::{LENGTH, Scene};

/// Outputs of ours (linear, suppressed) and of the peer. `times`: mean time of a frame, in us, over all calls.
pub fn run(scene: &Scene, times: &mut [f64; 2], verbose: bool) -> Vec<Vec<f32>> {
  let microphone = scene.microphone();
  let mut outputs = vec![vec![0.0; LENGTH]; 3];
  let mut ours = EchoCanceller::new();
  let mut peer = peer();
  let (mut ours_s, mut peer_s) = (0.0, 0.0);
  let mut suppressed = [0.0; FRAME];
  for (index, near) in microphone.chunks_exact(FRAME).enumerate() {
    let range = index * FRAME..(index + 1) * FRAME;
    let far = &scene.far[range.clone()];
    let lost = scene.lost[index];
    let start = Instant::now();
    if lost {
      ours.lose_far(FRAME)
    } else {
      ours.push_far(far)
    }
    let report = ours.process(near, &mut outputs[0][range.clone()], &mut suppressed).expect("a frame");
    ours_s += start.elapsed().as_secs_f64();
    // This output comes a frame late.
    if index > 0 {
      outputs[1][range.start - FRAME..range.start].copy_from_slice(&suppressed);
    }
    if verbose && index % 50 == 49 {
      println!("     {:5.1}s {report:?} true delay {:.1}", index as f64 / 100.0, scene.delay as f64 / 16.0);
    }
    let start = Instant::now();
    let mut ignored = [0.0; FRAME];
    let played = if lost { &[0.0; FRAME][..] } else { far };
    peer.process_render_f32(&[played], &mut [&mut ignored]).expect("a frame");
    let out = &mut outputs[2][range];
    peer.process_capture_f32(&[near], &mut [out]).expect("a frame");
    peer_s += start.elapsed().as_secs_f64();
  }
  let frames = (LENGTH / FRAME) as f64;
  let mix = |old: &mut f64, new: f64| *old = if *old == 0.0 { new } else { *old * 0.9 + new * 0.1 };
  mix(&mut times[0], ours_s / frames * 1e6);
  mix(&mut times[1], peer_s / frames * 1e6);
  outputs
}

/// The echo of the same scene without speech, as the linear output leaves it: what double talk is measured against.
pub fn silent(scene: &Scene) -> Vec<f32> {
  let mut quiet = scene.clone();
  quiet.speech.fill(0.0);
  let mut ours = EchoCanceller::new();
  let (mut out, mut suppressed) = (vec![0.0; LENGTH], [0.0; FRAME]);
  for (index, near) in quiet.microphone().chunks_exact(FRAME).enumerate() {
    let range = index * FRAME..(index + 1) * FRAME;
    if scene.lost[index] {
      ours.lose_far(FRAME)
    } else {
      ours.push_far(&scene.far[range.clone()])
    }
    ours.process(near, &mut out[range], &mut suppressed).expect("a frame");
  }
  out
}

fn peer() -> AudioProcessing {
  let config = Config { echo_canceller: Some(config::EchoCanceller::default()), ..Default::default() };
  let stream = StreamConfig::new(16_000, 1);
  AudioProcessing::builder().config(config).capture_config(stream.clone()).render_config(stream).build()
}
