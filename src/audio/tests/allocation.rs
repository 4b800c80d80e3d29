//! What is pushed block by block allocates when it is made and never again.

#[path = "support/allocations.rs"]
mod allocations;
#[path = "support/models.rs"]
mod models;

use allocations::allocations_of;
use local_inference_audio::Level;
use local_inference_audio::frame::Framer;
use local_inference_audio::resample::Resampler;
use local_inference_audio::ring::Ring;
use local_inference_audio::vad::{Network, SegmentRules, Vad, Version};
use local_inference_audio::wake::{Features, Head, Phrase, WakeWords};

#[test]
fn a_running_resampler_allocates_nothing() {
  for (from, to) in [(48_000, 16_000), (44_100, 16_000), (8_000, 16_000), (11_025, 24_000), (24_000, 48_000)]
  {
    let mut resampler = Resampler::new(from, to).expect("both rates are common");
    let mut out = Vec::with_capacity(resampler.most_output(4096));
    let chunk = vec![0.25; 4096];
    let count = allocations_of(|| {
      for length in [160, 1, 4096, 441, 1024, 3000] {
        out.clear();
        resampler.push(&chunk[..length], &mut out);
      }
      out.clear();
      resampler.finish(&mut out);
    });
    assert_eq!(count, 0, "{from} to {to} Hz");
  }
}

#[test]
fn frames_and_rings_allocate_nothing() {
  let (mut framer, mut ring) = (Framer::new(512), Ring::new(5_000));
  let chunk = vec![0.25; 4096];
  let mut frames = 0;
  let count = allocations_of(|| {
    for length in [160, 1, 4096, 441] {
      framer.push(&chunk[..length], |_, _| frames += 1);
      ring.push(&chunk[..length]);
    }
  });
  assert_eq!((count, frames), (0, 9));
}

#[test]
fn speech_detection_and_wake_words_allocate_nothing() {
  let network = Network::new(Version::V6).expect("weights are part of the crate");
  let mut vad = Vad::new(network, SegmentRules::new(16_000)).expect("the rules are sound");
  let head = Head::parse(&models::read("wake-words/hey_jarvis_v0.1.onnx"), Level::best()).expect("a head");
  let phrases = vec![Phrase { head, threshold: 0.5, refractory: 16_000 }];
  let features = Features::new().expect("weights are part of the crate");
  let mut words = WakeWords::new(features, phrases).expect("one phrase");
  let chunk: Vec<f32> = (0u16..4096).map(|index| (f32::from(index) * 0.1).sin()).collect();
  let mut events = 0;
  let count = allocations_of(|| {
    for _ in 0..10 {
      vad.push(&chunk, |_, _| events += 1).expect("finite samples");
      words.push(&chunk, |_| events += 1).expect("finite samples");
    }
    vad.reset();
    words.reset();
  });
  assert_eq!(count, 0);
  assert!(events >= 80);
}
