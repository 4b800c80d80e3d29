//! Impulse responses of rooms by the image method (J. Allen et al., JASA 65, 1979).

use super::random::Random;

const RATE: f64 = 16_000.0;
const SOUND: f64 = 343.0;
/// Samples on each side of an arrival that its band-limited pulse takes.
const REACH: i64 = 8;

/// A room of hard walls, all of one kind.
#[derive(Debug, Clone)]
pub struct Room {
  size: [f64; 3],
  rt60: f64,
}

impl Room {
  /// A room whose reverberation takes `rt60` seconds for 60 dB.
  pub fn random(random: &mut Random, rt60: f64) -> Self {
    Self { size: [random.within(3.0, 6.0), random.within(2.5, 5.0), random.within(2.3, 3.2)], rt60 }
  }

  /// A place at least 0.5 m from every wall.
  pub fn place(&self, random: &mut Random) -> [f64; 3] {
    self.size.map(|length| random.within(0.5, length - 0.5))
  }

  /// A place `away` metres from `from`, in the room.
  pub fn place_near(&self, random: &mut Random, from: [f64; 3], away: f64) -> [f64; 3] {
    loop {
      let step = [random.normal(), random.normal(), 0.5 * random.normal()];
      let length = step.iter().map(|part| part * part).sum::<f64>().sqrt();
      let place: [f64; 3] = std::array::from_fn(|axis| from[axis] + step[axis] * away / length);
      if (0..3).all(|axis| place[axis] > 0.2 && place[axis] < self.size[axis] - 0.2) {
        return place;
      }
    }
  }

  /// The impulse response from `source` to `microphone`, its energy 1.
  pub fn response(&self, source: [f64; 3], microphone: [f64; 3]) -> Vec<f32> {
    let length = (self.rt60 * RATE) as usize + 200;
    let reflection = self.reflection();
    let reach = self.rt60 * SOUND;
    let counts = self.size.map(|side| (reach / (2.0 * side)).ceil() as i64);
    let mut response = vec![0.0f64; length];
    for x in -counts[0]..=counts[0] {
      for y in -counts[1]..=counts[1] {
        for z in -counts[2]..=counts[2] {
          self.add_images([x, y, z], source, microphone, reflection, &mut response);
        }
      }
    }
    let energy: f64 = response.iter().map(|value| value * value).sum::<f64>().sqrt();
    response.iter().map(|value| (value / energy) as f32).collect()
  }

  /// Reflection coefficient that gives the reverberation time (Eyring).
  fn reflection(&self) -> f64 {
    let [x, y, z] = self.size;
    let (volume, surface) = (x * y * z, 2.0 * (x * y + y * z + x * z));
    (-0.161 * volume / (2.0 * surface * self.rt60)).exp()
  }

  fn add_images(&self, cell: [i64; 3], from: [f64; 3], to: [f64; 3], reflection: f64, response: &mut [f64]) {
    for mirror in 0..8 {
      let flip: [i64; 3] = std::array::from_fn(|axis| (mirror >> axis) & 1);
      let mut square = 0.0;
      let mut bounces = 0;
      for axis in 0..3 {
        let image = (1 - 2 * flip[axis]) as f64 * from[axis] + 2.0 * cell[axis] as f64 * self.size[axis];
        square += (image - to[axis]).powi(2);
        bounces += (cell[axis] - flip[axis]).abs() + cell[axis].abs();
      }
      let distance = square.sqrt().max(0.05);
      add_pulse(distance / SOUND * RATE, reflection.powi(bounces as i32) / distance, response);
    }
  }
}

fn add_pulse(at: f64, strength: f64, response: &mut [f64]) {
  let whole = at.floor() as i64;
  if whole + REACH >= response.len() as i64 {
    return;
  }
  let sine = (std::f64::consts::PI * (at - whole as f64)).sin();
  for index in whole - REACH + 1..=whole + REACH {
    let away = index as f64 - at;
    let Some(place) = usize::try_from(index).ok().and_then(|index| response.get_mut(index)) else { continue };
    let sign = if (index - whole) % 2 == 0 { -1.0 } else { 1.0 };
    let sinc = if away.abs() < 1e-9 { 1.0 } else { sign * sine / (std::f64::consts::PI * away) };
    let window = 0.5 + 0.5 * (std::f64::consts::PI * away / (REACH as f64 + 1.0)).cos();
    *place += strength * sinc * window;
  }
}
