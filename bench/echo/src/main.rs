//! Echo cancellers on the seeded corpus: `cargo run --release -- [--held-out] [--seeds N] [--wav DIR] [--voices DIR]`.

#[path = "../../../src/audio/tests/echo_corpus/mod.rs"]
mod corpus;
mod engines;
mod measure;

use corpus::scene::{Kind, Scene, Voices};
use std::path::Path;

fn main() {
  let arguments: Vec<String> = std::env::args().collect();
  let value =
    |name: &str| arguments.iter().position(|a| a == name).and_then(|at| arguments.get(at + 1)).cloned();
  let held_out = arguments.iter().any(|a| a == "--held-out");
  let seeds: u64 = value("--seeds").and_then(|text| text.parse().ok()).unwrap_or(4);
  let voices = value("--voices").map(|path| load(Path::new(&path))).unwrap_or_default();
  let only = value("--only");
  let verbose = arguments.iter().any(|a| a == "-v");
  let mut times = [0.0; 2];
  for kind in Kind::ALL {
    if only.as_ref().is_some_and(|only| !format!("{kind:?}").contains(only.as_str())) {
      continue;
    }
    let mut rows: Vec<Vec<[f64; 4]>> = vec![Vec::new(); 3];
    for seed in 0..seeds {
      let seed = seed * 2 + u64::from(held_out);
      let scene = Scene::new(kind, seed, &voices);
      let outputs = engines::run(&scene, &mut times, verbose);
      for (row, output) in rows.iter_mut().zip(&outputs) {
        row.push(measure::figures(kind, &scene, output, &outputs[0]));
      }
      if let Some(folder) = value("--wav") {
        write(&folder, kind, seed, &scene, &outputs);
      }
      if verbose {
        println!(
          "   {kind:?} {seed} {:?}",
          rows.iter().map(|r| r.last().unwrap().map(|v| (v * 10.0).round() / 10.0)).collect::<Vec<_>>()
        );
      }
    }
    println!("{kind:?} {}", measure::names(kind));
    for (name, row) in ["linear", "suppressed", "sonora"].iter().zip(&rows) {
      println!("  {name:11} {}", measure::summary(row));
    }
  }
  println!(
    "CPU us per frame: ours {:.1}, sonora {:.1}, ratio {:.2}",
    times[0],
    times[1],
    times[0] / times[1]
  );
}

fn write(folder: &str, kind: Kind, seed: u64, scene: &Scene, outputs: &[Vec<f32>]) {
  use local_inference_audio::wav;
  let save = |name: &str, samples: &[f32]| {
    let bytes =
      wav::write(&wav::Wav { rate: 16_000, channels: 1, samples: samples.to_vec() }, wav::Encoding::Float32);
    std::fs::write(format!("{folder}/{kind:?}-{seed}-{name}.wav"), bytes).expect("the folder takes files");
  };
  if scene.talk.is_empty() {
    return;
  }
  let text: Vec<String> = scene.spoken.iter().map(ToString::to_string).collect();
  std::fs::write(format!("{folder}/{kind:?}-{seed}.txt"), text.join(" ")).expect("the folder takes files");
  save("clean", &scene.speech[scene.talk.clone()]);
  save("raw", &scene.microphone()[scene.talk.clone()]);
  for (name, output) in ["linear", "suppressed", "sonora"].iter().zip(outputs) {
    save(name, &output[scene.talk.clone()]);
  }
}

/// `near/*.wav` and `far/*.wav` of a folder, in order of their names.
fn load(folder: &Path) -> Voices {
  let read = |name: &str| {
    let mut paths: Vec<_> =
      std::fs::read_dir(folder.join(name)).expect("the folder is there").map(|e| e.unwrap().path()).collect();
    paths.sort();
    paths
      .iter()
      .map(|path| {
        let wav = local_inference_audio::wav::read(&std::fs::read(path).unwrap()).unwrap();
        assert_eq!(wav.rate, 16_000);
        let mut mono = wav.to_mono();
        corpus::signal::set_level(&mut mono, -20.0);
        mono
      })
      .collect()
  };
  Voices { near: read("near"), far: read("far") }
}
