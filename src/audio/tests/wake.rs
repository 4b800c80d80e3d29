//! openWakeWord's features and heads beside onnxruntime's results, and what a stream may bring.

#[path = "support/minute.rs"]
mod minute;
#[path = "support/models.rs"]
mod models;

use local_inference_audio::Level;
use local_inference_audio::error::AudioErrorKind;
use local_inference_audio::wake::{CHUNK, Detection, EMBEDDING, Features, Head, Phrase, WakeWords};
use minute::{minute, vector, worst};
use proptest::prelude::*;

const HEADS: [&str; 4] = ["alexa", "hey_jarvis", "hey_mycroft", "hey_rhasspy"];

fn head(name: &str) -> Head {
  Head::parse(&models::read(&format!("wake-words/{name}_v0.1.onnx")), Level::best())
    .expect("a head of openWakeWord")
}

fn embeddings(features: &mut Features, sound: &[f32]) -> Vec<f32> {
  sound.chunks_exact(CHUNK).flat_map(|chunk| features.push(chunk).expect("finite samples").to_vec()).collect()
}

/// The numbers of `made_up` in `vectors/make.py`.
fn made_up(count: usize) -> Vec<f32> {
  let mut state = 1u32;
  let mut next = || {
    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    (state >> 8) as f32 / 16_777_216.0 * 30.0 - 15.0
  };
  (0..count).map(|_| next()).collect()
}

fn words(names: &[&str], threshold: f32) -> WakeWords {
  let phrases = names.iter().map(|name| Phrase { head: head(name), threshold, refractory: 16_000 });
  WakeWords::new(Features::new().expect("weights are part of the crate"), phrases.collect()).expect("phrases")
}

#[test]
fn a_minute_of_speech_music_and_silence_has_onnxruntimes_embeddings() {
  let sound = minute();
  let reference = vector(include_bytes!("vectors/embeddings.f32"));
  for level in Level::available() {
    let mut features = Features::with_level(level).expect("an available level");
    let all = embeddings(&mut features, &sound);
    let every_fourth: Vec<f32> = all.chunks(EMBEDDING).step_by(4).flatten().copied().collect();
    let off = worst(&every_fourth, &reference);
    assert!(off < 1e-4, "{level:?}: off by {off}");
  }
}

#[test]
fn every_head_scores_as_onnxruntime_scores() {
  let reference = vector(include_bytes!("vectors/heads.f32"));
  let features = embeddings(&mut Features::new().expect("weights are part of the crate"), &minute());
  let made_up = made_up(200 * 1536);
  for (name, reference) in HEADS.into_iter().zip(reference.chunks_exact(reference.len() / HEADS.len())) {
    assert!(reference.iter().any(|score| *score > 0.9));
    let mut head = head(name);
    let length = head.embeddings() * EMBEDDING;
    let windows = features.windows(length).step_by(EMBEDDING);
    let scores: Vec<f32> =
      windows.chain(made_up.chunks_exact(length)).map(|window| head.score(window)).collect();
    let off = worst(&scores, reference);
    assert!(off < 1e-4, "{name}: off by {off}");
  }
}

#[test]
fn reset_streams_are_as_good_as_new() {
  let sound = &minute()[..40 * CHUNK];
  let mut features = Features::new().expect("weights are part of the crate");
  let first = embeddings(&mut features, sound);
  features.reset();
  assert_eq!(embeddings(&mut features, sound), first);
}

#[test]
fn nothing_is_detected_where_nobody_says_it() {
  let mut words = words(&HEADS, 0.5);
  let mut heard = Vec::new();
  words.push(&minute(), |detection| heard.push(detection)).expect("finite samples");
  for _ in 0..100 {
    words.reset();
    words.push(&[0.0; 20 * CHUNK], |detection| heard.push(detection)).expect("finite samples");
  }
  assert_eq!(heard, []);
}

#[test]
fn a_phrase_is_told_once_until_it_was_silent_and_the_rest_is_over() {
  // A threshold that the call crosses again and again stands in for a phrase that is said often.
  let sound = minute();
  let mut scores = Vec::new();
  let mut quiet = words(&["hey_jarvis"], 1.0);
  for chunk in sound.chunks_exact(CHUNK) {
    quiet.push(chunk, |_| ()).expect("finite samples");
    scores.extend(quiet.scores());
  }
  let mut sorted = scores.clone();
  sorted.sort_by(f32::total_cmp);
  let threshold = sorted[sorted.len() * 8 / 10];
  let mut expected: Vec<u64> = Vec::new();
  let mut armed = true;
  for (index, score) in scores.iter().enumerate() {
    let position = (index as u64 + 1) * CHUNK as u64;
    if *score >= threshold {
      if armed && expected.last().is_none_or(|last| position - last >= 16_000) {
        expected.push(position);
        armed = false;
      }
    } else {
      armed = true;
    }
  }
  assert!(expected.len() > 3);
  let mut heard: Vec<Detection> = Vec::new();
  let mut words = words(&["hey_jarvis"], threshold);
  for chunk in sound.chunks(333) {
    words.push(chunk, |detection| heard.push(detection)).expect("finite samples");
  }
  assert_eq!(heard.iter().map(|detection| detection.position).collect::<Vec<_>>(), expected);
  assert!(heard.iter().all(|detection| detection.score >= threshold && detection.phrase == 0));
}

#[test]
fn samples_that_are_not_finite_are_refused_and_change_nothing() {
  let sound = &minute()[..40 * CHUNK];
  let mut clean = words(&["alexa"], 0.5);
  let mut disturbed = words(&["alexa"], 0.5);
  for chunk in sound.chunks(1000) {
    clean.push(chunk, |_| ()).expect("finite samples");
    let mut damaged = chunk.to_vec();
    damaged[7] = f32::NAN;
    disturbed.push(&damaged, |_| ()).expect_err("refused");
    disturbed.push(chunk, |_| ()).expect("finite samples");
    assert_eq!(clean.scores().collect::<Vec<_>>(), disturbed.scores().collect::<Vec<_>>());
  }
}

#[test]
fn absurdly_loud_sound_is_survived() {
  let mut features = Features::new().expect("weights are part of the crate");
  for gain in [1e9, 1e30, f32::MAX] {
    let loud: Vec<f32> =
      minute()[..20 * CHUNK].iter().map(|sample| (sample * gain).clamp(-f32::MAX, f32::MAX)).collect();
    assert!(embeddings(&mut features, &loud).iter().all(|value| value.is_finite()));
  }
}

/// A file of weights: names, sizes and numbers.
fn weights(tensors: &[(&str, &[usize])]) -> Vec<u8> {
  let (mut header, mut data) = (Vec::new(), Vec::new());
  for (name, shape) in tensors {
    let count: usize = shape.iter().product();
    let start = data.len();
    data.extend((0..count).flat_map(|at| ((at as f32 * 0.618_034).fract() * 0.02 - 0.01).to_le_bytes()));
    header.push(format!(
      r#""{name}":{{"dtype":"F32","shape":{shape:?},"data_offsets":[{start},{}]}}"#,
      data.len()
    ));
  }
  let header = format!("{{{}}}", header.join(","));
  [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat()
}

#[test]
fn heads_in_our_own_form_are_read() {
  let file = weights(&[
    ("layer.0.weight", &[32, 1536]),
    ("layer.0.bias", &[32]),
    ("norm.0.weight", &[32]),
    ("norm.0.bias", &[32]),
    ("layer.1.weight", &[1, 32]),
    ("layer.1.bias", &[1]),
  ]);
  let mut head = Head::parse(&file, Level::best()).expect("a head");
  assert_eq!(head.embeddings(), 16);
  assert!((0.4..0.6).contains(&head.score(&made_up(1536))));
}

#[test]
fn files_that_are_no_head_are_refused_with_what_they_are() {
  let refused = |bytes: &[u8]| match Head::parse(bytes, Level::best()) {
    Ok(_) => panic!("accepted"),
    Err(error) => (error.kind(), error.to_string()),
  };
  let timer = refused(&models::read("wake-words/timer_v0.1.onnx"));
  assert!(timer.0 == AudioErrorKind::ModelUnsupported && timer.1.contains("Softmax"), "{timer:?}");
  let two = refused(&weights(&[("layer.0.weight", &[2, 1536]), ("layer.0.bias", &[2])]));
  assert!(two.0 == AudioErrorKind::ModelUnsupported && two.1.contains("2 outputs"), "{two:?}");
  let odd = refused(&weights(&[("layer.0.weight", &[1, 1500]), ("layer.0.bias", &[1])]));
  assert!(odd.0 == AudioErrorKind::ModelUnsupported && odd.1.contains("1500"), "{odd:?}");
  let none = refused(&weights(&[("other", &[1])]));
  assert!(none.0 == AudioErrorKind::ModelInvalid && none.1.contains("layer.0.weight"), "{none:?}");
  for bytes in [b"".as_slice(), b"RIFF", b"not a model at all", &[0xFF; 100]] {
    assert_eq!(refused(bytes).0, AudioErrorKind::ModelInvalid);
  }
}

#[test]
fn wrong_thresholds_and_empty_lists_are_refused() {
  for threshold in [0.0, -1.0, 1.1, f32::NAN] {
    let phrase = Phrase { head: head("alexa"), threshold, refractory: 0 };
    assert!(WakeWords::new(Features::new().expect("weights are part of the crate"), vec![phrase]).is_err());
  }
  assert!(WakeWords::new(Features::new().expect("weights are part of the crate"), Vec::new()).is_err());
}

proptest! {
  #[test]
  fn no_damage_of_a_head_is_worse_than_an_error(
    cut in 0usize..300_000, changes in prop::collection::vec((0usize..204_081, any::<u8>()), 0..8),
  ) {
    let mut file = models::read("wake-words/hey_rhasspy_v0.1.onnx");
    for (at, byte) in changes {
      file[at] = byte;
    }
    if let Ok(mut head) = Head::parse(&file[..cut.min(file.len())], Level::best()) {
      head.score(&vec![0.5; head.embeddings() * EMBEDDING]);
    }
  }
}
