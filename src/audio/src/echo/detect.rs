//! What is happening: nothing played, echo alone, somebody speaking over it, or another echo path.

use super::spectrum::FRAME;

/// Level below which an end is silent, as a mean square (-80 dB).
pub(super) const SILENCE: f32 = 1e-8;
/// Share of the past that stays in short averages at a frame: about 80 ms.
const SHORT: f32 = 0.88;
/// In long ones: about 0.5 s.
const LONG: f32 = 0.98;

/// Averages over the near end (`near`), what is left of it (`left`) and the predicted echo (`echo`).
#[derive(Debug, Clone, Default)]
struct Levels {
  near: f32,
  left: f32,
  echo: f32,
  /// Product of what is left and the prediction.
  both: f32,
}

impl Levels {
  fn take(&mut self, frame: &Self, memory: f32) {
    let mix = |old: &mut f32, new: f32| *old = memory * *old + (1.0 - memory) * new;
    mix(&mut self.near, frame.near);
    mix(&mut self.left, frame.left);
    mix(&mut self.echo, frame.echo);
    mix(&mut self.both, frame.both);
  }

  /// Correlation of what is left and the prediction, -1 to 1. By the orthogonality principle it is 0 once the filter
  /// has learnt all it can, and stays so when somebody speaks; it falls when the echo is another than predicted.
  fn correlation(&self) -> f32 {
    self.both / (self.left * self.echo).sqrt().max(1e-12)
  }
}

/// What a frame calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
  /// The filter learns as it does.
  Steady,
  /// The path is not quite what the filter has learnt.
  PathChanged,
  /// What the filter has learnt is of no use.
  PathLost,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Detector {
  short: Levels,
  long: Levels,
  /// Left and near over frames of echo alone.
  single: Levels,
  changed: u32,
  waiting: u32,
  double_talk: u32,
  louder: bool,
}

impl Detector {
  pub(super) fn reset(&mut self) {
    *self = Self::default();
  }

  /// Looks at a frame: the near end, what is left of it and the predicted echo. `audible`: the far end is not silent.
  pub(super) fn look(&mut self, near: &[f32], left: &[f32], echo: &[f32], audible: bool) -> Verdict {
    let mean = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>() / FRAME as f32;
    let frame = Levels {
      near: mean(near, near),
      left: mean(left, left),
      echo: mean(echo, echo),
      both: mean(left, echo),
    };
    self.short.take(&frame, SHORT);
    self.long.take(&frame, LONG);
    self.louder = frame.left > 1.5 * frame.near;
    self.judge_talk(&frame, audible);
    self.judge_path(audible)
  }

  fn judge_path(&mut self, audible: bool) -> Verdict {
    self.waiting = self.waiting.saturating_sub(1);
    let other = audible && self.short.echo > SILENCE && self.short.correlation() < -0.4;
    self.changed = if other { self.changed + 1 } else { self.changed.saturating_sub(1) };
    if self.changed > 5 && self.waiting == 0 {
      (self.changed, self.waiting) = (0, 20);
      let useless = self.short.left > 0.8 * self.short.near;
      return if useless { Verdict::PathLost } else { Verdict::PathChanged };
    }
    Verdict::Steady
  }

  fn judge_talk(&mut self, frame: &Levels, audible: bool) {
    let learnt = self.single.near > 4.0 * self.single.left && self.single.near > 0.0;
    let usual = self.single.left / self.single.near.max(1e-12);
    let more = learnt && frame.left > 6.0 * usual * self.short.echo.max(frame.echo) && frame.left > 1e-7;
    let talk = audible && more && self.short.correlation() > -0.35;
    self.double_talk = if talk { 12 } else { self.double_talk.saturating_sub(1) };
    if audible && frame.near > SILENCE && (self.double_talk == 0 || !learnt) {
      self.single.take(frame, LONG);
    }
  }

  /// Somebody speaks over the echo.
  pub(super) fn double_talk(&self) -> bool {
    self.double_talk > 0
  }

  /// Echo return loss enhancement over frames of echo alone, about the last half second of them, in dB.
  pub(super) fn erle_db(&self) -> f32 {
    if self.single.near <= 0.0 {
      return 0.0;
    }
    10.0 * (self.single.near / self.single.left.max(1e-12)).log10()
  }

  /// The prediction makes this very frame louder.
  pub(super) fn louder(&self) -> bool {
    self.louder
  }

  /// What is left is louder than what was there before.
  pub(super) fn harmful(&self) -> bool {
    self.louder || self.short.left > self.short.near
  }
}
