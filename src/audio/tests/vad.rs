//! Silero VAD beside onnxruntime's results, and in every condition that a microphone can bring.

#[path = "support/minute.rs"]
mod minute;
#[path = "support/models.rs"]
mod models;

use local_inference_audio::Level;
use local_inference_audio::resample::Resampler;
use local_inference_audio::vad::{Change, Event, Network, SegmentRules, Vad, Version, WINDOW};
use minute::{minute, vector, worst};

const V5: &[u8] = include_bytes!("vectors/vad-v5.f32");
const V6: &[u8] = include_bytes!("vectors/vad-v6.f32");

fn network() -> Network {
  Network::new(Version::V6).expect("weights are part of the crate")
}

fn vad() -> Vad {
  Vad::new(network(), SegmentRules::new(16_000)).expect("the rules are sound")
}

fn probabilities(network: &mut Network, sound: &[f32]) -> Vec<f32> {
  sound.chunks_exact(WINDOW).map(|window| network.push(window).expect("finite samples")).collect()
}

/// Start and end of the sound of each segment.
fn segments(vad: &mut Vad, chunks: &[&[f32]]) -> Vec<(u64, u64)> {
  let mut out = Vec::new();
  let mut keep = |event: &Event| {
    if let Event::Change(Change::Ended { sound, .. }) = event {
      out.push((sound.start, sound.end));
    }
  };
  for chunk in chunks {
    vad.push(chunk, |event, _| keep(event)).expect("finite samples");
  }
  vad.finish(|event, _| keep(event)).expect("finite samples");
  out
}

#[test]
fn a_minute_of_speech_music_and_silence_is_judged_as_onnxruntime_judges_it() {
  let sound = minute();
  for (version, reference) in [(Version::V5, V5), (Version::V6, V6)] {
    let reference = vector(reference);
    assert!(reference.iter().any(|p| *p > 0.99) && reference.iter().any(|p| *p < 0.01));
    for level in Level::available() {
      let mut network = Network::with_level(version, level).expect("an available level");
      let off = worst(&probabilities(&mut network, &sound), &reference);
      assert!(off < 1e-5, "{version:?}, {level:?}: off by {off}");
    }
  }
}

#[test]
fn a_reset_network_is_as_good_as_new() {
  let sound = &minute()[..100 * WINDOW];
  let mut network = network();
  let first = probabilities(&mut network, sound);
  network.reset();
  assert_eq!(probabilities(&mut network, sound), first);
}

#[test]
fn streams_do_not_know_of_each_other() {
  let sound = minute();
  let (a, b) = (&sound[..200 * WINDOW], &sound[700 * WINDOW..900 * WINDOW]);
  let alone = (probabilities(&mut network(), a), probabilities(&mut network(), b));
  let (mut first, mut second) = (network(), network());
  let mut together = (Vec::new(), Vec::new());
  for (a, b) in a.chunks_exact(WINDOW).zip(b.chunks_exact(WINDOW)) {
    together.0.push(first.push(a).expect("finite samples"));
    together.1.push(second.push(b).expect("finite samples"));
  }
  assert_eq!(together, alone);
}

#[test]
fn sixty_four_streams_on_four_threads_give_what_one_gives() {
  let sound = minute()[..60 * WINDOW].to_vec();
  let alone = probabilities(&mut network(), &sound);
  std::thread::scope(|scope| {
    for _ in 0..4 {
      scope.spawn(|| {
        let mut streams: Vec<_> = (0..16).map(|_| network()).collect();
        for stream in &mut streams {
          assert_eq!(probabilities(stream, &sound), alone);
        }
      });
    }
  });
}

#[test]
fn sound_that_is_no_speech_is_survived_and_is_no_speech() {
  let silence = vec![0.0; 50 * WINDOW];
  let constant = vec![0.7; 50 * WINDOW];
  let hum: Vec<f32> = (0..50 * WINDOW).map(|at| (at as f32 * 50.0 / 16_000.0 * 6.283).sin() * 0.3).collect();
  let tiny = vec![f32::MIN_POSITIVE / 4.0; 50 * WINDOW];
  for sound in [silence, constant, hum, tiny] {
    let probabilities = probabilities(&mut network(), &sound);
    assert!(probabilities[20..].iter().all(|p| *p < 0.35), "{probabilities:?}");
  }
}

#[test]
fn clipped_and_absurdly_loud_sound_is_survived() {
  let sound = minute();
  for gain in [100.0, 1e9, 1e30, f32::MAX] {
    let loud: Vec<f32> =
      sound[..100 * WINDOW].iter().map(|sample| (sample * gain).clamp(-f32::MAX, f32::MAX)).collect();
    let mut network = network();
    assert!(probabilities(&mut network, &loud).iter().all(|p| (0.0..=1.0).contains(p)), "gain {gain}");
    network.reset();
    assert!(worst(&probabilities(&mut network, &sound), &vector(V6)) < 1e-5);
  }
}

#[test]
fn samples_that_are_not_finite_are_refused_and_change_nothing() {
  let sound = minute();
  for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
    let (mut network, mut vad) = (network(), vad());
    let mut seen = Vec::new();
    for (index, window) in sound[..200 * WINDOW].chunks_exact(WINDOW).enumerate() {
      if index % 7 == 3 {
        let mut damaged = window.to_vec();
        damaged[index] = wrong;
        network.push(&damaged).expect_err("refused");
        let error = vad.push(&damaged, |_, _| panic!("nothing is told")).expect_err("refused");
        assert!(error.to_string().contains(&format!("sample {index}")), "{error}");
      }
      seen.push(network.push(window).expect("finite samples"));
    }
    assert_eq!(seen, probabilities(&mut self::network(), &sound[..200 * WINDOW]));
    assert_eq!(vad.position(), 0);
  }
}

#[test]
fn a_window_of_another_length_is_refused() {
  for length in [0, 511, 513, 1536] {
    network().push(&vec![0.0; length]).expect_err("refused");
  }
}

#[test]
fn chunks_of_any_length_give_the_same_segments() {
  let sound = minute();
  let whole = segments(&mut vad(), &[&sound]);
  assert!(whole.len() >= 3, "{whole:?}");
  for length in [1, 160, 511, 513, 4096] {
    let chunks: Vec<&[f32]> = sound.chunks(length).collect();
    assert_eq!(segments(&mut vad(), &chunks), whole, "chunks of {length}");
  }
}

#[test]
fn other_rates_give_the_same_segments_within_two_windows() {
  let sound = minute();
  let whole = segments(&mut vad(), &[&sound]);
  for rate in [24_000, 44_100, 48_000] {
    let convert = |from, to, sound: &[f32]| {
      let mut resampler = Resampler::new(from, to).expect("common rates");
      let mut out = Vec::new();
      resampler.push(sound, &mut out);
      resampler.finish(&mut out);
      out
    };
    let there_and_back = convert(rate, 16_000, &convert(16_000, rate, &sound));
    let other = segments(&mut vad(), &[&there_and_back]);
    assert_eq!(other.len(), whole.len(), "{rate} Hz: {other:?} for {whole:?}");
    for (a, b) in other.iter().zip(&whole) {
      assert!(a.0.abs_diff(b.0) <= 1024 && a.1.abs_diff(b.1) <= 1024, "{rate} Hz: {other:?} for {whole:?}");
    }
  }
}

#[test]
fn an_hour_of_the_same_minute_is_judged_the_same_every_time() {
  let sound = minute();
  let mut vad = vad();
  let mut passes: Vec<Vec<(u64, u64)>> = vec![Vec::new(); 60];
  for _ in 0..60 {
    vad
      .push(&sound, |event, _| {
        if let Event::Change(Change::Ended { sound: range, .. }) = event {
          let (length, start) = (sound.len() as u64, range.start);
          passes[(start / length) as usize].push((start % length, range.end - start));
        }
      })
      .expect("finite samples");
  }
  // The first pass has another beginning: nothing was before it.
  for (index, pass) in passes.iter().enumerate().skip(2).take(57) {
    assert_eq!(pass.len(), passes[1].len(), "pass {index}");
    for (a, b) in pass.iter().zip(&passes[1]) {
      assert!(a.0.abs_diff(b.0) <= 512 && a.1.abs_diff(b.1) <= 1024, "pass {index}: {a:?} for {b:?}");
    }
  }
}

#[test]
fn the_sound_of_a_segment_is_what_was_pushed_there() {
  let sound = minute();
  let mut vad = vad();
  let mut count = 0;
  for chunk in sound.chunks(700) {
    let mut ended = None;
    vad
      .push(chunk, |event, ring| {
        if let Event::Change(Change::Ended { sound: range, .. }) = event {
          assert!(ring.held().start <= range.start && range.end <= ring.held().end);
          ended = Some(range.clone());
        }
      })
      .expect("finite samples");
    if let Some(range) = ended {
      count += 1;
      assert_eq!(vad.sound(range.clone()), sound[range.start as usize..range.end as usize]);
    }
  }
  assert!(count >= 2);
}

#[test]
fn speech_without_end_is_cut_into_segments_without_a_hole() {
  let speech: Vec<f32> = minute()[30 * 16_000..41 * 16_000].to_vec();
  let rules = SegmentRules { longest: 8 * 16_000, hang_over: 2 * 16_000, ..SegmentRules::new(16_000) };
  let mut vad = Vad::new(network(), rules).expect("the rules are sound");
  let chunks = vec![speech.as_slice(); 6];
  let all = segments(&mut vad, &chunks);
  assert!(all.len() >= 8, "{all:?}");
  for (a, b) in all.iter().zip(&all[1..]) {
    assert_eq!(a.1, b.0, "{all:?}");
  }
  assert!(all.iter().all(|(start, end)| end - start <= rules.longest + 512));
}
