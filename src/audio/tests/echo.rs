//! What an echo canceller promises, on a few seeded scenes that need no recording. The whole corpus is `bench/echo`.

#![allow(
  unreachable_pub,
  clippy::cast_possible_truncation,
  clippy::cast_possible_wrap,
  clippy::cast_precision_loss,
  clippy::cast_sign_loss,
  clippy::similar_names
)]

#[path = "support/allocations.rs"]
mod allocations;
mod echo_corpus;

use allocations::allocations_of;
use echo_corpus::scene::{HALF, Kind, LENGTH, RATE, Scene, Voices};
use local_inference_audio::echo::{EchoCanceller, EchoReport, FRAME};
use local_inference_audio::metrics::erle_db;

struct Heard {
  linear: Vec<f32>,
  suppressed: Vec<f32>,
  reports: Vec<EchoReport>,
}

fn run(scene: &Scene) -> Heard {
  let mut canceller = EchoCanceller::new();
  let mut heard = Heard { linear: vec![0.0; LENGTH], suppressed: vec![0.0; LENGTH], reports: Vec::new() };
  for (index, near) in scene.microphone().chunks_exact(FRAME).enumerate() {
    let range = index * FRAME..(index + 1) * FRAME;
    if scene.lost[index] {
      canceller.lose_far(FRAME);
    } else {
      canceller.push_far(&scene.far[range.clone()]);
    }
    let outputs = (&mut heard.linear[range.clone()], &mut heard.suppressed[range]);
    heard.reports.push(canceller.process(near, outputs.0, outputs.1).expect("a whole frame"));
  }
  heard
}

fn scene(kind: Kind) -> Scene {
  Scene::new(kind, 1, &Voices::default())
}

fn power(samples: &[f32]) -> f32 {
  samples.iter().map(|sample| sample * sample).sum::<f32>() / samples.len() as f32
}

#[test]
fn the_echo_of_a_room_is_cancelled_and_its_delay_found() {
  let scene = scene(Kind::Linear);
  let heard = run(&scene);
  let late = 12 * RATE..LENGTH;
  let microphone = scene.microphone();
  let linear = erle_db(&microphone[late.clone()], &heard.linear[late.clone()]).expect("an echo");
  let suppressed = erle_db(&microphone[late.clone()], &heard.suppressed[late]).expect("an echo");
  assert!(linear > 15.0 && suppressed > linear, "{linear:.1} and {suppressed:.1} dB");
  let last = heard.reports.last().expect("many frames");
  assert!(last.converged && last.erle_db > 10.0, "{last:?}");
  let delay = last.delay_ms.expect("the delay is found");
  assert!((delay - scene.delay as f32 / 16.0).abs() < 5.0, "{delay} ms, not {}", scene.delay as f32 / 16.0);
}

#[test]
fn nothing_is_made_louder_in_any_scene() {
  for kind in Kind::ALL {
    let scene = scene(kind);
    let (heard, microphone) = (run(&scene), scene.microphone());
    for start in (0..LENGTH).step_by(RATE) {
      let second = start..start + RATE;
      let (before, after) = (power(&microphone[second.clone()]), power(&heard.linear[second.clone()]));
      assert!(after < 2.0 * before, "{kind:?}, second {}: {before} to {after}", start / RATE);
    }
    assert!(heard.suppressed.iter().all(|sample| sample.abs() < 1.0), "{kind:?}");
  }
}

#[test]
fn while_nothing_plays_the_microphone_passes_unchanged() {
  let scene = scene(Kind::FarSilent);
  let (heard, microphone) = (run(&scene), scene.microphone());
  assert!(heard.linear.iter().zip(&microphone).all(|(out, near)| (out - near).abs() < 1e-4));
  let late = heard.suppressed[FRAME..].iter().zip(&microphone).all(|(out, near)| (out - near).abs() < 1e-4);
  assert!(late, "the suppressed output is the microphone's, a frame late");
  assert!(heard.reports.iter().all(|report| !report.double_talk && !report.converged));
}

#[test]
fn speech_over_the_echo_is_noticed_and_stays() {
  let scene = scene(Kind::DoubleTalk);
  let heard = run(&scene);
  let share = |range: std::ops::Range<usize>| {
    heard.reports[range.clone()].iter().filter(|report| report.double_talk).count() as f64
      / range.len() as f64
  };
  let half = HALF / FRAME;
  let (alone, over) = (share(half / 2..half), share(half..2 * half));
  assert!(alone < 0.2 && over > 0.4, "double talk in {alone:.2} of the echo alone, {over:.2} with speech");
  let ratio = power(&heard.linear[HALF..]) / power(&scene.speech[HALF..]);
  assert!((0.8..1.3).contains(&ratio), "the speech has {ratio} of its power");
}

#[test]
fn a_sample_that_is_no_number_ends_nothing() {
  let scene = scene(Kind::Linear);
  let microphone = scene.microphone();
  let mut canceller = EchoCanceller::new();
  let (mut linear, mut suppressed) = ([0.0; FRAME], [0.0; FRAME]);
  for (index, near) in microphone.chunks_exact(FRAME).take(600).enumerate() {
    let mut near = near.to_vec();
    let mut far = scene.far[index * FRAME..(index + 1) * FRAME].to_vec();
    match index % 100 {
      50 => near[7] = f32::NAN,
      60 => far[7] = f32::INFINITY,
      70 => near.fill(1e30),
      _ => {}
    }
    canceller.push_far(&far);
    canceller.process(&near, &mut linear, &mut suppressed).expect("a whole frame");
    let sound = linear.iter().chain(&suppressed).all(|sample| sample.is_finite());
    assert!(sound, "frame {index}");
  }
}

#[test]
fn another_length_is_refused() {
  let mut canceller = EchoCanceller::new();
  let (mut whole, mut short) = ([0.0; FRAME], [0.0; FRAME - 1]);
  assert!(canceller.process(&[0.0; FRAME + 1], &mut whole.clone(), &mut whole).is_err());
  assert!(canceller.process(&[0.0; FRAME], &mut short, &mut whole).is_err());
}

#[test]
fn after_a_reset_it_is_as_new_and_running_it_allocates_nothing() {
  let scene = scene(Kind::LostFrames);
  let microphone = scene.microphone();
  let mut canceller = EchoCanceller::new();
  let mut outputs = [(); 2].map(|()| Vec::with_capacity(200 * FRAME));
  let count = allocations_of(|| {
    for out in &mut outputs {
      let (mut linear, mut suppressed) = ([0.0; FRAME], [0.0; FRAME]);
      for (index, near) in microphone.chunks_exact(FRAME).take(200).enumerate() {
        canceller.push_far(&scene.far[index * FRAME..(index + 1) * FRAME]);
        canceller.process(near, &mut linear, &mut suppressed).expect("a whole frame");
        out.extend_from_slice(&linear);
      }
      canceller.reset();
    }
  });
  assert_eq!(count, 0);
  assert_eq!(outputs[0], outputs[1]);
}
