//! Graphics cards that Linux knows.

use std::path::Path;

use super::accelerator::AcceleratorDevice;

/// Graphics cards that the kernel's drivers list below `root`.
pub(super) fn graphics_cards(root: &Path) -> Vec<AcceleratorDevice> {
  let Ok(entries) = std::fs::read_dir(root.join("sys/class/drm")) else { return Vec::new() };
  let mut cards: Vec<_> = entries
    .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
    .filter(|name| name.strip_prefix("card").is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit())))
    .collect();
  cards.sort();
  cards
    .iter()
    .filter_map(|card| graphics_card(&root.join("sys/class/drm").join(card).join("device")))
    .collect()
}

fn graphics_card(device: &Path) -> Option<AcceleratorDevice> {
  let read = |name: &str| Some(std::fs::read_to_string(device.join(name)).ok()?.trim().to_owned());
  let vendor = match read("vendor")?.as_str() {
    "0x10de" => "NVIDIA",
    "0x1002" => "AMD",
    "0x8086" => "Intel",
    "0x5143" => "Qualcomm",
    "0x13b5" => "ARM",
    // Display adapters of virtual machines compute nothing.
    _ => return None,
  };
  let name = read("product_name").filter(|name| !name.is_empty());
  let memory_total = read("mem_info_vram_total").and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
  Some(AcceleratorDevice { name: name.unwrap_or_else(|| format!("{vendor} GPU")), memory_total })
}

#[cfg(test)]
mod tests {
  use super::*;
  use crate::hardware::cgroup::tests::Tree;

  #[test]
  fn cards_are_listed_with_their_vendor_and_memory() {
    let tree = Tree::new("cards");
    tree.write("sys/class/drm/card0/device/vendor", "0x1234\n");
    tree.write("sys/class/drm/card1/device/vendor", "0x1002\n");
    tree.write("sys/class/drm/card1/device/mem_info_vram_total", "17163091968\n");
    tree.write("sys/class/drm/card1-HDMI-A-1/status", "connected\n");
    tree.write("sys/class/drm/renderD128/device/vendor", "0x1002\n");
    tree.write("sys/class/drm/card2/device/vendor", "0x8086\n");
    let cards = graphics_cards(tree.root());
    let named: Vec<_> = cards.iter().map(|card| (card.name.as_str(), card.memory_total)).collect();
    assert_eq!(named, [("AMD GPU", 17_163_091_968), ("Intel GPU", 0)]);
    assert!(graphics_cards(&tree.root().join("nowhere")).is_empty());
  }
}
