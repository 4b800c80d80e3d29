//! What is pushed block by block allocates when it is made and never again.

mod support;

use local_inference_audio::frame::Framer;
use local_inference_audio::resample::Resampler;
use local_inference_audio::ring::Ring;
use support::allocations_of;

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
