//! Every instruction set beside plain Rust, to the bit; and plain Rust beside sums in f64.

use std::io::Write as _;
use std::sync::Once;

use proptest::prelude::*;

use super::InstructionSet;

/// The instruction sets beside plain Rust. Those that cannot be tested here are named, past the test runner's capture.
fn others() -> Vec<InstructionSet> {
  static SAY: Once = Once::new();
  let (present, absent) = InstructionSet::all();
  SAY.call_once(|| {
    for isa in absent {
      let _ = writeln!(std::io::stderr(), "not tested: {}: {}", isa.name, isa.reason);
    }
  });
  present.into_iter().filter(|isa| *isa != InstructionSet::PORTABLE).collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
  values.iter().map(|value| value.to_bits()).collect()
}

fn codebook() -> [f32; 512] {
  let mut i = 0.0;
  [(); 512].map(|()| {
    i += 1.0;
    f32::sin(i) * 2.5
  })
}

fn vectors() -> impl Strategy<Value = (Vec<f32>, Vec<u8>, Vec<u16>, Vec<u8>)> {
  prop::sample::select(vec![16, 32, 64, 128, 256, 512]).prop_flat_map(|n: usize| {
    (
      prop::collection::vec(-1e3_f32..1e3, n),
      prop::collection::vec(any::<u8>(), n),
      prop::collection::vec(any::<u16>(), n),
      prop::collection::vec(any::<u8>(), n / 8),
    )
  })
}

/// Every kernel's results as bits, in one list.
fn results(isa: InstructionSet, query: &[f32], codes: &[u8], states: &[u16], signs: &[u8]) -> Vec<u32> {
  let levels: [f32; 16] = std::array::from_fn(|i| codebook()[i]);
  let book = codebook();
  let mut sum = query.to_vec();
  isa.add_levels(&mut sum, codes, &levels, 0.3);
  isa.add_states(&mut sum, states, &book, -1.7);
  isa.add_signs(&mut sum, signs, 0.11);
  isa.scale(&mut sum, 0.9);
  isa.hadamard(&mut sum);
  sum.push(isa.level_dot(codes, &levels, query));
  sum.push(isa.state_dot(states, &book, query));
  sum.push(isa.sign_dot(signs, query));
  bits(&sum)
}

proptest! {
    #[test]
    fn every_instruction_set_gives_the_bits_of_plain_rust((query, codes, states, signs) in vectors()) {
        let expected = results(InstructionSet::PORTABLE, &query, &codes, &states, &signs);
        for isa in others() {
            prop_assert_eq!(&results(isa, &query, &codes, &states, &signs), &expected, "{}", isa.name());
        }
    }

    #[test]
    fn sums_are_within_rounding_of_sums_in_f64((query, codes, states, signs) in vectors()) {
        let levels: [f32; 16] = std::array::from_fn(|i| codebook()[i]);
        let book = codebook();
        let near = |actual: f32, terms: Vec<f64>| {
            let size: f64 = terms.iter().map(|term| term.abs()).sum();
            (f64::from(actual) - terms.iter().sum::<f64>()).abs() <= 1e-6 * size
        };
        let products = |values: &mut dyn FnMut(usize) -> f32| -> Vec<f64> {
            query.iter().enumerate().map(|(i, q)| f64::from(values(i)) * f64::from(*q)).collect()
        };
        for isa in InstructionSet::all().0 {
            let terms = products(&mut |i| levels[usize::from(codes[i] & 15)]);
            prop_assert!(near(isa.level_dot(&codes, &levels, &query), terms));
            let terms = products(&mut |i| book[usize::from(states[i] & 511)]);
            prop_assert!(near(isa.state_dot(&states, &book, &query), terms));
            let terms = products(&mut |i| if signs[i / 8] >> (i % 8) & 1 == 1 { 1.0 } else { -1.0 });
            prop_assert!(near(isa.sign_dot(&signs, &query), terms));
        }
    }
}
