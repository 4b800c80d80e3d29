//! Limits of the control groups that the process is in, versions 1 and 2.

use std::fs;
use std::path::{Path, PathBuf};

/// The tightest limits of all enclosing groups; none where there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Limits {
  /// Processors' worth of time.
  pub(super) cpu: Option<f64>,
  /// Bytes of memory.
  pub(super) memory: Option<u64>,
  /// Bytes that are left of the limit, page cache that can be dropped counted as free.
  pub(super) memory_left: Option<u64>,
}

/// Where one controller keeps its files, innermost group first.
struct Groups {
  directories: Vec<PathBuf>,
}

/// File names of one version.
struct MemoryFiles {
  limits: &'static [&'static str],
  usage: &'static str,
  /// Lines of `memory.stat`: page cache that was not used lately, and that was.
  cache: [&'static str; 2],
  /// The part of it that processes have mapped, such as the weights of a loaded model.
  mapped: &'static str,
}

const MEMORY_V2: MemoryFiles = MemoryFiles {
  limits: &["memory.max", "memory.high"],
  usage: "memory.current",
  cache: ["inactive_file", "active_file"],
  mapped: "file_mapped",
};
const MEMORY_V1: MemoryFiles = MemoryFiles {
  limits: &["memory.limit_in_bytes"],
  usage: "memory.usage_in_bytes",
  cache: ["total_inactive_file", "total_active_file"],
  mapped: "total_mapped_file",
};

/// Version 1 says "no limit" with the largest multiple of a page; no machine has that much.
const UNLIMITED: u64 = 1 << 60;

/// Reads the limits below `root`, `/` outside of tests.
pub(super) fn limits(root: &Path) -> Limits {
  let membership = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
  let mount = root.join("sys/fs/cgroup");
  let mut found = Limits::default();
  // With both versions mounted side by side each controller is in one of them; the other has no files.
  for line in membership.lines() {
    let mut parts = line.splitn(3, ':');
    let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
      continue;
    };
    if controllers.is_empty() {
      let groups = Groups::new(&mount, path);
      found.tighten_cpu(groups.cpu_v2());
      found.tighten_memory(&groups, &MEMORY_V2);
      continue;
    }
    let has = |name: &str| controllers.split(',').any(|controller| controller == name);
    if has("cpu") {
      let groups = Groups::existing(&[mount.join(controllers), mount.join("cpu")], path);
      found.tighten_cpu(groups.cpu_v1());
    }
    if has("memory") {
      let groups = Groups::existing(&[mount.join(controllers), mount.join("memory")], path);
      found.tighten_memory(&groups, &MEMORY_V1);
    }
  }
  found
}

impl Limits {
  fn tighten_cpu(&mut self, limit: Option<f64>) {
    if let Some(limit) = limit {
      self.cpu = Some(self.cpu.map_or(limit, |found| found.min(limit)));
    }
  }

  fn tighten_memory(&mut self, groups: &Groups, files: &MemoryFiles) {
    for directory in &groups.directories {
      let bytes = |name: &str| read_number(&directory.join(name));
      let limit = files.limits.iter().filter_map(|name| bytes(name)).filter(|limit| *limit < UNLIMITED).min();
      let Some(limit) = limit else { continue };
      let used = bytes(files.usage).unwrap_or(0);
      let statistics = fs::read_to_string(directory.join("memory.stat")).unwrap_or_default();
      let count = |name: &str| -> u64 {
        let of_line = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok();
        statistics.lines().find_map(of_line).unwrap_or(0)
      };
      let cache: u64 = files.cache.iter().map(|name| count(name)).sum();
      let left = limit.saturating_sub(used.saturating_sub(cache.saturating_sub(count(files.mapped))));
      self.memory = Some(self.memory.map_or(limit, |found| found.min(limit)));
      self.memory_left = Some(self.memory_left.map_or(left, |found| found.min(left)));
    }
  }
}

impl Groups {
  /// The directory of `path` below `mount` and its parents down to the mount. Inside a container the path may be the
  /// host's; then only the mount itself exists, which is the container's group.
  fn new(mount: &Path, path: &str) -> Self {
    let mut directories = Vec::new();
    let mut relative = Path::new(path.trim_start_matches('/'));
    // A namespace shows groups outside of it as `/..`; those cannot be read.
    if path.split('/').any(|part| part == "..") {
      relative = Path::new("");
    }
    for ancestor in relative.ancestors() {
      directories.push(mount.join(ancestor));
    }
    Self { directories }
  }

  /// The groups below the first of `mounts` that exists.
  fn existing(mounts: &[PathBuf], path: &str) -> Self {
    let mount = mounts.iter().find(|mount| mount.is_dir());
    mount.map_or(Self { directories: Vec::new() }, |mount| Self::new(mount, path))
  }

  /// `cpu.max`: quota (or `max`) and period, in microseconds.
  fn cpu_v2(&self) -> Option<f64> {
    let ratio = |directory: &PathBuf| {
      let text = fs::read_to_string(directory.join("cpu.max")).ok()?;
      let mut words = text.split_whitespace();
      quotient(words.next()?.parse().ok()?, words.next()?.parse().ok()?)
    };
    self.directories.iter().filter_map(ratio).reduce(f64::min)
  }

  /// `cpu.cfs_quota_us` (-1 without limit) and `cpu.cfs_period_us`.
  fn cpu_v1(&self) -> Option<f64> {
    let number = |directory: &PathBuf, name: &str| read_number(&directory.join(name));
    let ratio = |directory: &PathBuf| {
      quotient(number(directory, "cpu.cfs_quota_us")?, number(directory, "cpu.cfs_period_us")?)
    };
    self.directories.iter().filter_map(ratio).reduce(f64::min)
  }
}

#[expect(clippy::cast_precision_loss, reason = "quotas are microseconds, far below 2^53")]
fn quotient(quota: u64, period: u64) -> Option<f64> {
  (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

/// A non-negative number; none for `max`, `-1` and missing files.
fn read_number(path: &Path) -> Option<u64> {
  fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
pub(super) mod tests {
  use super::*;

  /// A directory tree that stands for a machine and is removed afterwards.
  pub(in crate::hardware) struct Tree(PathBuf);

  impl Tree {
    pub(in crate::hardware) fn new(name: &str) -> Self {
      let root = std::env::temp_dir().join(format!("hardware-{}-{name}", std::process::id()));
      fs::create_dir_all(&root).unwrap();
      Self(root)
    }

    pub(in crate::hardware) fn root(&self) -> &Path {
      &self.0
    }

    pub(in crate::hardware) fn write(&self, path: &str, text: &str) {
      let path = self.0.join(path);
      fs::create_dir_all(path.parent().unwrap()).unwrap();
      fs::write(path, text).unwrap();
    }
  }

  impl Drop for Tree {
    fn drop(&mut self) {
      let _ = fs::remove_dir_all(&self.0);
    }
  }

  #[test]
  fn the_tightest_of_the_enclosing_groups_counts() {
    let tree = Tree::new("nested");
    tree.write("proc/self/cgroup", "0::/outer/inner\n");
    tree.write("sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
    tree.write("sys/fs/cgroup/outer/cpu.max", "250000 100000\n");
    tree.write("sys/fs/cgroup/outer/memory.max", "3000\n");
    tree.write("sys/fs/cgroup/outer/memory.current", "2500\n");
    tree.write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
    tree.write("sys/fs/cgroup/outer/inner/memory.high", "2000\n");
    tree.write("sys/fs/cgroup/outer/inner/memory.current", "400\n");
    let found = limits(tree.root());
    assert_eq!(found, Limits { cpu: Some(2.5), memory: Some(2000), memory_left: Some(500) });
  }

  #[test]
  fn cache_that_can_be_dropped_is_free() {
    let tree = Tree::new("reclaim");
    tree.write("proc/self/cgroup", "0::/\n");
    tree.write("sys/fs/cgroup/memory.max", "10000\n");
    tree.write("sys/fs/cgroup/memory.current", "9000\n");
    tree.write("sys/fs/cgroup/memory.stat", "anon 2000\nfile 7000\ninactive_file 6000\nactive_file 1000\n");
    assert_eq!(limits(tree.root()).memory_left, Some(8000));
  }

  #[test]
  fn cache_that_is_mapped_is_in_use() {
    let tree = Tree::new("mapped");
    tree.write("proc/self/cgroup", "0::/\n");
    tree.write("sys/fs/cgroup/memory.max", "10000\n");
    tree.write("sys/fs/cgroup/memory.current", "9000\n");
    let statistics = "anon 2000\nfile 7000\nfile_mapped 4000\ninactive_file 3000\nactive_file 4000\n";
    tree.write("sys/fs/cgroup/memory.stat", statistics);
    assert_eq!(limits(tree.root()).memory_left, Some(4000));
  }

  #[test]
  fn version_1_limits_count_and_its_unlimited_does_not() {
    let tree = Tree::new("v1");
    tree.write("proc/self/cgroup", "4:memory:/box\n3:cpuacct,cpu:/box\n0::/\n");
    tree.write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "5000\n");
    tree.write("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "3000\n");
    tree.write("sys/fs/cgroup/memory/box/memory.stat", "inactive_file 1\ntotal_inactive_file 500\n");
    tree.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    tree.write("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "50000\n");
    tree.write("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
    tree.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    tree.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    let found = limits(tree.root());
    assert_eq!(found, Limits { cpu: Some(0.5), memory: Some(5000), memory_left: Some(2500) });
  }

  #[test]
  fn the_hosts_path_seen_in_a_container_falls_back_to_the_mount() {
    let tree = Tree::new("foreign");
    tree.write("proc/self/cgroup", "0::/../../elsewhere\n");
    tree.write("sys/fs/cgroup/memory.max", "777\n");
    assert_eq!(limits(tree.root()).memory, Some(777));
    tree.write("proc/self/cgroup", "0::/kubepods/pod1\n");
    assert_eq!(limits(tree.root()).memory, Some(777));
  }

  #[test]
  fn no_group_is_no_limit() {
    let tree = Tree::new("none");
    assert_eq!(limits(tree.root()), Limits::default());
    tree.write("proc/self/cgroup", "nonsense\n0::\n");
    assert_eq!(limits(tree.root()), Limits::default());
  }
}
