//! Every gate, without the weights of real models.

use std::cell::Cell;
use std::sync::LazyLock;

use local_inference_kernels::{Evidence, KernelError, verify};

static EVIDENCE: LazyLock<Evidence> =
  LazyLock::new(|| verify(&[], &|| false).expect("kernels refuse nothing that they should take"));

#[test]
fn every_gate_holds() {
  let evidence = &*EVIDENCE;
  let failed: Vec<_> = evidence.gates.iter().filter(|gate| !gate.ok).collect();
  assert!(failed.is_empty(), "{failed:#?}");
  assert!(evidence.ok);
}

#[test]
fn the_gates_count_what_the_kernels_makers_count() {
  let evidence = &*EVIDENCE;
  let count = |gate: &str, format: &str, on: &str| {
    let gates = evidence.gates.iter().filter(|g| (g.gate, &*g.format, &*g.on) == (gate, format, on));
    gates.map(|g| g.count).collect::<Vec<_>>()
  };
  let sets = evidence.instruction_sets.iter().filter(|set| set.ran).count();
  for values in ["TBQ3_0", "Q4_POLAR"] {
    let format = format!("QJL1_256/{values}");
    assert_eq!(count("fused", &format, "heads of 128"), vec![1920; sets]);
    assert_eq!(count("fused-causal", &format, "heads of 128"), vec![1536; sets]);
    assert_eq!(count("finite", &format, "random bytes"), vec![65_536; sets]);
  }
  assert_eq!(count("pre-rotated", "Q4_POLAR", "rows of 128"), vec![8; sets]);
  for (format, on) in [("TBQ3_0", "rows of 128"), ("TBQ4_K", "rows of 256"), ("QJL1_256", "rows of 512")] {
    assert_eq!(count("scores", format, on), vec![8; sets]);
  }
}

/// What docs/kernels.md promises to whoever reads the evidence.
#[test]
fn evidence_has_the_documented_fields() {
  let evidence = &*EVIDENCE;
  let json = serde_json::to_value(evidence).expect("plain data");
  for field in
    ["schema", "schemaVersion", "ok", "build", "processor", "instructionSets", "gates", "skipped", "seconds"]
  {
    assert!(json.get(field).is_some(), "{field}");
  }
  let gate = &json["gates"][0];
  for field in
    ["gate", "format", "instructionSet", "on", "count", "passed", "largestDifference", "tolerance", "ok"]
  {
    assert!(gate.get(field).is_some(), "{field}");
  }
  let absent =
    json["instructionSets"].as_array().and_then(|sets| sets.iter().find(|set| set["ran"] == false));
  assert!(absent.is_some_and(|set| set["reason"].is_string()));
}

#[test]
fn who_asks_to_stop_gets_no_evidence() {
  let asked = Cell::new(0);
  let stop = || {
    asked.set(asked.get() + 1);
    asked.get() > 2
  };
  assert_eq!(verify(&[], &stop).map(|_| ()), Err(KernelError::Cancelled));
}
