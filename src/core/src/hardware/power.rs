//! Battery and temperature, where a file tells.

use std::path::Path;

/// What limits how long and how hard the machine can compute. Fields are none where the system does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PowerState {
  /// Whether it runs from a battery now.
  pub on_battery: Option<bool>,
  /// Charge of the battery in percent.
  pub battery_percent: Option<u8>,
  /// The hottest sensor in degrees Celsius.
  pub temperature: Option<f32>,
}

/// The state of the moment. Only Linux and Android tell.
pub fn power_state() -> PowerState {
  read(Path::new("/"))
}

fn read(root: &Path) -> PowerState {
  let mut state = PowerState::default();
  let mut mains = None;
  let mut discharging = None;
  for supply in folders(&root.join("sys/class/power_supply")) {
    let value =
      |name: &str| std::fs::read_to_string(supply.join(name)).ok().map(|text| text.trim().to_owned());
    // The battery of a mouse does not run the machine.
    if value("scope").as_deref() == Some("Device") {
      continue;
    }
    match value("type").as_deref() {
      Some("Battery") => {
        state.battery_percent = value("capacity").and_then(|text| text.parse().ok());
        discharging = value("status").map(|status| status == "Discharging");
      }
      Some("Mains" | "USB" | "Wireless") => {
        let online = value("online").is_some_and(|online| online != "0");
        mains = Some(mains.unwrap_or(false) || online);
      }
      _ => {}
    }
  }
  state.on_battery = discharging.or(match (mains, state.battery_percent) {
    (Some(online), Some(_)) => Some(!online),
    (Some(true), None) => Some(false),
    _ => None,
  });
  state.temperature = folders(&root.join("sys/class/thermal"))
    .iter()
    .filter_map(|zone| std::fs::read_to_string(zone.join("temp")).ok()?.trim().parse::<f32>().ok())
    .map(|milli| milli / 1000.0)
    // Sensors that are not connected report absurd values.
    .filter(|degrees| (1.0..150.0).contains(degrees))
    .reduce(f32::max);
  state
}

fn folders(path: &Path) -> Vec<std::path::PathBuf> {
  let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
  entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

#[cfg(test)]
mod tests {
  use super::*;
  use crate::hardware::cgroup::tests::Tree;

  #[test]
  fn a_discharging_battery_means_running_from_it() {
    let tree = Tree::new("battery");
    tree.write("sys/class/power_supply/BAT0/type", "Battery\n");
    tree.write("sys/class/power_supply/BAT0/status", "Discharging\n");
    tree.write("sys/class/power_supply/BAT0/capacity", "42\n");
    tree.write("sys/class/power_supply/AC/type", "Mains\n");
    tree.write("sys/class/power_supply/AC/online", "0\n");
    tree.write("sys/class/power_supply/mouse/type", "Battery\n");
    tree.write("sys/class/power_supply/mouse/scope", "Device\n");
    tree.write("sys/class/power_supply/mouse/capacity", "7\n");
    let state = read(tree.root());
    assert_eq!((state.on_battery, state.battery_percent), (Some(true), Some(42)));
  }

  #[test]
  fn the_hottest_connected_sensor_counts() {
    let tree = Tree::new("thermal");
    tree.write("sys/class/thermal/thermal_zone0/temp", "45000\n");
    tree.write("sys/class/thermal/thermal_zone1/temp", "61500\n");
    tree.write("sys/class/thermal/thermal_zone2/temp", "-273000\n");
    assert_eq!(read(tree.root()).temperature, Some(61.5));
  }

  #[test]
  fn a_machine_that_tells_nothing_has_an_empty_state() {
    assert_eq!(read(Tree::new("silent").root()), PowerState::default());
  }
}
