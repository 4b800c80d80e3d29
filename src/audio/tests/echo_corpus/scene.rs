//! A scene: both ends, and what of the near end is echo, speech and noise.

use std::ops::Range;

use super::random::Random;
use super::room::Room;
use super::signal::{babble, convolve, distort, drift, music, set_level};

/// Samples a second.
pub const RATE: usize = 16_000;
/// Length of a scene in samples: 20 s.
pub const LENGTH: usize = 20 * RATE;
/// Where the path changes and the other speaker begins.
pub const HALF: usize = LENGTH / 2;

/// What is hard about a scene.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
  Linear,
  Music,
  Distorted,
  PathChange,
  Drift100,
  Drift200,
  DelayJumps,
  LostFrames,
  DoubleTalk,
  DoubleTalkDistorted,
  DoubleTalkFromStart,
  FarSilent,
}

impl Kind {
  pub const ALL: [Self; 12] = [
    Self::Linear,
    Self::Music,
    Self::Distorted,
    Self::PathChange,
    Self::Drift100,
    Self::Drift200,
    Self::DelayJumps,
    Self::LostFrames,
    Self::DoubleTalk,
    Self::DoubleTalkDistorted,
    Self::DoubleTalkFromStart,
    Self::FarSilent,
  ];
}

/// Recordings to speak with. Without any, [`babble`] speaks.
#[derive(Debug, Clone, Default)]
pub struct Voices {
  pub near: Vec<Vec<f32>>,
  pub far: Vec<Vec<f32>>,
}

/// One scene.
#[derive(Debug, Clone)]
pub struct Scene {
  pub far: Vec<f32>,
  /// Frames of the far end that never arrive.
  pub lost: Vec<bool>,
  pub echo: Vec<f32>,
  pub speech: Vec<f32>,
  pub noise: Vec<f32>,
  /// Samples in which the near end speaks.
  pub talk: Range<usize>,
  /// Delay from the far end to its first arrival, in samples, at the beginning.
  pub delay: usize,
  /// Which near voices speak, in order.
  pub spoken: Vec<usize>,
}

impl Scene {
  /// The scene of `kind` and `seed`.
  pub fn new(kind: Kind, seed: u64, voices: &Voices) -> Self {
    let mut random = Random::new(seed * 31 + kind as u64);
    let mut far = far_end(kind, &mut random, voices);
    set_level(&mut far, random.within(-26.0, -18.0));
    let bulk = (random.within(0.0, 0.3) * RATE as f64) as usize;
    let (echo, delay) = echo(kind, &far, bulk, &mut random);
    let mut scene = Self {
      lost: vec![false; LENGTH / 160],
      speech: vec![0.0; LENGTH],
      noise: (0..LENGTH).map(|_| random.normal() as f32).collect(),
      talk: 0..0,
      spoken: Vec::new(),
      far,
      echo,
      delay,
    };
    let level = random.within(-38.0, -24.0);
    if kind == Kind::FarSilent {
      scene.far.fill(0.0);
      scene.echo.fill(0.0);
    } else {
      set_level(&mut scene.echo, level);
    }
    set_level(&mut scene.noise, level - random.within(32.0, 45.0));
    if kind == Kind::LostFrames {
      for _ in 0..12 {
        let (at, count) = (random.index(LENGTH / 160 - 20), 1 + random.index(8));
        scene.lost[at..at + count].fill(true);
      }
    }
    scene.talk = talk(kind);
    if !scene.talk.is_empty() {
      scene.speak(&mut random, voices, level);
    }
    scene
  }

  /// What the microphone records.
  pub fn microphone(&self) -> Vec<f32> {
    (0..LENGTH).map(|at| self.echo[at] + self.speech[at] + self.noise[at]).collect()
  }

  fn speak(&mut self, random: &mut Random, voices: &Voices, echo_level: f64) {
    let room = self.talk.len();
    let mut speech = Vec::with_capacity(room);
    if voices.near.is_empty() {
      speech = babble(random, room);
    } else {
      let first = random.index(voices.near.len());
      for step in 0..voices.near.len() {
        let index = (first + step) % voices.near.len();
        let voice = &voices.near[index];
        if speech.len() + voice.len() + 4000 <= room {
          speech.extend(std::iter::repeat_n(0.0, 4000));
          speech.extend_from_slice(voice);
          self.spoken.push(index);
        }
      }
      speech.resize(room, 0.0);
    }
    set_level(&mut speech, echo_level + random.within(-3.0, 6.0));
    self.speech[self.talk.clone()].copy_from_slice(&speech);
  }
}

fn talk(kind: Kind) -> Range<usize> {
  match kind {
    Kind::DoubleTalk | Kind::DoubleTalkDistorted => HALF..LENGTH,
    Kind::DoubleTalkFromStart | Kind::FarSilent => 0..LENGTH,
    _ => 0..0,
  }
}

fn far_end(kind: Kind, random: &mut Random, voices: &Voices) -> Vec<f32> {
  if kind == Kind::Music {
    return music(random, LENGTH);
  }
  if voices.far.is_empty() {
    return babble(random, LENGTH);
  }
  let mut far = vec![0.0; 4800];
  while far.len() < LENGTH {
    far.extend_from_slice(&voices.far[random.index(voices.far.len())]);
  }
  far.truncate(LENGTH);
  far
}

fn echo(kind: Kind, far: &[f32], bulk: usize, random: &mut Random) -> (Vec<f32>, usize) {
  let mut played = far.to_vec();
  if matches!(kind, Kind::Distorted | Kind::DoubleTalkDistorted) {
    distort(&mut played, random.within(1.0, 2.5) as f32);
  }
  let sign = if random.index(2) == 0 { 1.0 } else { -1.0 };
  match kind {
    Kind::Drift100 => played = drift(&played, 100.0 * sign),
    Kind::Drift200 => played = drift(&played, 200.0 * sign),
    _ => {}
  }
  let rt60 = random.within(0.15, 0.6);
  let room = Room::random(random, rt60);
  let microphone = room.place(random);
  let away = random.within(0.35, 1.0);
  let loudspeaker = room.place_near(random, microphone, away);
  let response = room.response(loudspeaker, microphone);
  let mut echo = convolve(&delayed(&played, bulk), &response);
  if kind == Kind::PathChange {
    let elsewhere = room.place_near(random, microphone, away);
    let after = convolve(&delayed(&played, bulk), &room.response(elsewhere, microphone));
    echo[HALF..].copy_from_slice(&after[HALF..]);
  }
  if kind == Kind::DelayJumps {
    for start in [LENGTH / 4, LENGTH / 2, LENGTH * 3 / 4] {
      let moved = bulk + (random.within(0.0, 0.02) * RATE as f64) as usize;
      let after = convolve(&delayed(&played, moved), &response);
      echo[start..].copy_from_slice(&after[start..]);
    }
  }
  let direct = (away / 343.0 * RATE as f64) as usize;
  (echo, bulk + direct)
}

fn delayed(samples: &[f32], by: usize) -> Vec<f32> {
  let mut out = vec![0.0; by];
  out.extend_from_slice(&samples[..samples.len() - by]);
  out
}
