//! Linux and Android: `/proc` and `/sys`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::cgroup;
use super::facts::HardwareFacts;

/// Fills in what the files below `root` (`/` outside of tests) say; what they do not say stays.
pub(super) fn refine(mut facts: HardwareFacts, root: &Path) -> HardwareFacts {
  let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
  let cpuinfo = read("proc/cpuinfo");
  if let Some(model) = cpu_model(&cpuinfo) {
    facts.cpu_model = model;
  }
  let allowed = field(&read("proc/self/status"), "Cpus_allowed_list").map(|list| cpu_list(&list));
  let allowed = allowed.filter(|cpus| !cpus.is_empty());
  let online = cpu_list(&read("sys/devices/system/cpu/online"));
  let usable: BTreeSet<u32> = match allowed {
    Some(allowed) if online.is_empty() => allowed,
    Some(allowed) => allowed.intersection(&online).copied().collect(),
    None => online,
  };
  if !usable.is_empty() {
    facts.logical_cores = u32::try_from(usable.len()).unwrap_or(u32::MAX);
  }
  let cores = physical_cores(&usable, |cpu| {
    read(&format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"))
  });
  facts.physical_cores = cores.unwrap_or(facts.logical_cores).clamp(1, facts.logical_cores);

  let limits = cgroup::limits(root);
  let logical = f64::from(facts.logical_cores);
  facts.cpu_limit = limits.cpu.map_or(logical, |limit| limit.min(logical));

  let (total, available) = meminfo(&read("proc/meminfo"));
  facts.memory_total = limits.memory.map_or(total, |limit| limit.min(total));
  let left = limits.memory_left.map_or(available, |left| left.min(available));
  facts.memory_available = left.min(facts.memory_total);
  facts
}

/// Value of the first `name: value` line.
fn field(text: &str, name: &str) -> Option<String> {
  let lines = text.lines().filter_map(|line| line.split_once(':'));
  let value = lines.filter(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned()).next()?;
  Some(value).filter(|value| !value.is_empty())
}

/// Name of the processor: x86 and some ARM kernels give one, others only the board's.
fn cpu_model(cpuinfo: &str) -> Option<String> {
  ["model name", "Model", "Hardware"].iter().find_map(|name| field(cpuinfo, name))
}

/// The CPUs of a list such as `0-3,8,10-11`. Malformed parts are passed over.
fn cpu_list(text: &str) -> BTreeSet<u32> {
  // More CPUs than the kernel supports are not worth counting.
  const MOST: u32 = 1 << 16;
  let mut cpus = BTreeSet::new();
  for part in text.trim().split(',') {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    if let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
      cpus.extend(first..=last.min(first.saturating_add(MOST)));
    }
  }
  cpus
}

/// Number of distinct sets of sibling threads among `cpus`; none when the kernel does not tell.
fn physical_cores(cpus: &BTreeSet<u32>, siblings: impl Fn(u32) -> String) -> Option<u32> {
  let mut cores = BTreeSet::new();
  for cpu in cpus {
    let list = siblings(*cpu);
    if list.trim().is_empty() {
      return None;
    }
    cores.insert(list.trim().to_owned());
  }
  u32::try_from(cores.len()).ok().filter(|count| *count > 0)
}

/// `MemTotal` and `MemAvailable` in bytes; kernels before 3.14 lack the latter, `MemFree` plus `Cached` stands in.
fn meminfo(text: &str) -> (u64, u64) {
  let kilobytes = |name: &str| {
    let value = field(text, name)?;
    value.trim_end_matches("kB").trim().parse::<u64>().ok()?.checked_mul(1024)
  };
  let total = kilobytes("MemTotal").unwrap_or(0);
  let stand_in = || kilobytes("MemFree").unwrap_or(0).saturating_add(kilobytes("Cached").unwrap_or(0));
  (total, kilobytes("MemAvailable").unwrap_or_else(stand_in).min(total))
}

#[cfg(test)]
mod tests {
  use super::super::facts;
  use super::*;
  use crate::hardware::cgroup::tests::Tree;

  const MEMINFO: &str = "MemTotal:       16384000 kB\nMemFree:         1000000 kB\nMemAvailable:    8192000 kB\n\
                         Buffers:          100000 kB\nCached:          2000000 kB\n";

  fn machine(name: &str) -> Tree {
    let tree = Tree::new(name);
    tree.write("proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Test CPU @ 3 GHz\n");
    tree.write("proc/self/status", "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7\n");
    tree.write("proc/meminfo", MEMINFO);
    tree.write("sys/devices/system/cpu/online", "0-7\n");
    for cpu in 0..8 {
      let core = cpu % 4;
      let path = format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
      tree.write(&path, &format!("{core},{}\n", core + 4));
    }
    tree
  }

  #[test]
  fn sibling_threads_count_as_one_core() {
    let tree = machine("siblings");
    let facts = refine(facts(), tree.root());
    assert_eq!((facts.physical_cores, facts.logical_cores), (4, 8));
    assert_eq!(facts.cpu_model, "Test CPU @ 3 GHz");
    assert!((facts.cpu_limit - 8.0).abs() < f64::EPSILON);
    assert_eq!((facts.memory_total, facts.memory_available), (16_384_000 << 10, 8_192_000 << 10));
  }

  #[test]
  fn only_cores_that_the_process_may_run_on_count() {
    let tree = machine("affinity");
    tree.write("proc/self/status", "Cpus_allowed_list:\t0,4\n");
    let facts = refine(facts(), tree.root());
    assert_eq!((facts.physical_cores, facts.logical_cores), (1, 2));
  }

  #[test]
  fn a_container_limits_processor_and_memory() {
    let tree = machine("container");
    tree.write("proc/self/cgroup", "0::/app\n");
    tree.write("sys/fs/cgroup/app/cpu.max", "150000 100000\n");
    tree.write("sys/fs/cgroup/app/memory.max", "2147483648\n");
    tree.write("sys/fs/cgroup/app/memory.current", "1073741824\n");
    let facts = refine(facts(), tree.root());
    assert!((facts.cpu_limit - 1.5).abs() < f64::EPSILON);
    assert_eq!((facts.memory_total, facts.memory_available), (2 << 30, 1 << 30));
  }

  #[test]
  fn empty_files_leave_what_the_standard_library_knows() {
    let tree = Tree::new("nothing");
    let before = facts();
    let facts = refine(before.clone(), tree.root());
    assert_eq!(facts.logical_cores, before.logical_cores);
    assert_eq!(facts.memory_total, 0);
  }

  #[test]
  fn lists_of_processors_are_ranges_and_numbers() {
    assert_eq!(cpu_list("0-2,5\n").into_iter().collect::<Vec<_>>(), [0, 1, 2, 5]);
    assert!(cpu_list("").is_empty());
    assert_eq!(cpu_list("x,3-1,7").into_iter().collect::<Vec<_>>(), [7]);
    assert!(cpu_list("0-4294967295").len() <= (1 << 16) + 1);
  }

  #[test]
  fn an_arm_board_is_named_by_its_model() {
    assert_eq!(cpu_model("processor: 0\nModel\t: Board 5\n").as_deref(), Some("Board 5"));
    assert_eq!(cpu_model("processor: 0\n"), None);
  }

  #[test]
  fn old_kernels_without_available_memory_use_free_and_cached() {
    assert_eq!(meminfo("MemTotal: 100 kB\nMemFree: 10 kB\nCached: 20 kB\n"), (100 << 10, 30 << 10));
    assert_eq!(meminfo("garbage"), (0, 0));
  }
}
