//! Truncation, packing and finishing of embeddings.

use local_inference_core::embed::{Specials, Truncate, fit_tokens, normalize, pack, reduce_dimensions};
use local_inference_core::error::ErrorCode;
use proptest::collection::vec;
use proptest::prelude::*;

const FRAME: Specials = Specials { bos: None, cls: Some(101), eos: None, sep: Some(102) };

fn framed(text: &[i32]) -> Vec<i32> {
  [&[101], text, &[102]].concat()
}

#[test]
fn a_text_that_fits_is_untouched() {
  for policy in [Truncate::Head, Truncate::Tail, Truncate::Error] {
    let tokens = framed(&[1, 2, 3]);
    assert_eq!(fit_tokens(tokens.clone(), 5, policy, FRAME).unwrap(), (tokens, false));
  }
  assert_eq!(fit_tokens(Vec::new(), 0, Truncate::Error, FRAME).unwrap(), (Vec::new(), false));
}

#[test]
fn truncation_keeps_the_frame_and_the_end_that_was_asked_for() {
  let tokens = framed(&[1, 2, 3, 4]);
  assert_eq!(fit_tokens(tokens.clone(), 4, Truncate::Head, FRAME).unwrap(), (framed(&[1, 2]), true));
  assert_eq!(fit_tokens(tokens, 4, Truncate::Tail, FRAME).unwrap(), (framed(&[3, 4]), true));
}

#[test]
fn an_end_of_sequence_alone_is_kept() {
  let special = Specials { eos: Some(2), ..Specials::default() };
  assert_eq!(fit_tokens(vec![5, 6, 7, 2], 3, Truncate::Head, special).unwrap().0, [5, 6, 2]);
  assert_eq!(fit_tokens(vec![5, 6, 7, 2], 3, Truncate::Tail, special).unwrap().0, [6, 7, 2]);
}

#[test]
fn without_framing_tokens_the_text_is_cut_plainly() {
  assert_eq!(fit_tokens(vec![1, 2, 3], 2, Truncate::Head, FRAME).unwrap().0, [1, 2]);
  assert_eq!(fit_tokens(vec![1, 2, 3], 2, Truncate::Tail, Specials::default()).unwrap().0, [2, 3]);
}

#[test]
fn refusing_truncation_names_both_numbers() {
  let error = fit_tokens(framed(&[7; 600]), 512, Truncate::Error, FRAME).unwrap_err();
  assert_eq!(error.code(), ErrorCode::ContextOverflow);
  assert!(error.to_string().contains("602") && error.to_string().contains("512"), "{error}");
}

#[test]
fn a_limit_that_leaves_no_text_is_an_overflow() {
  for limit in 0..=2 {
    let error = fit_tokens(framed(&[1, 2]), limit, Truncate::Head, FRAME).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ContextOverflow);
  }
  assert_eq!(fit_tokens(framed(&[1, 2]), 3, Truncate::Head, FRAME).unwrap().0, framed(&[1]));
}

#[test]
fn truncation_policies_are_read_by_name() {
  let read: Vec<Truncate> = ["head", "tail", "error"].iter().map(|name| name.parse().unwrap()).collect();
  assert_eq!(read, [Truncate::Head, Truncate::Tail, Truncate::Error]);
  assert_eq!("middle".parse::<Truncate>().unwrap_err().code(), ErrorCode::InvalidInput);
}

#[test]
fn a_vector_without_direction_is_reported_and_left_alone() {
  for original in [vec![], vec![0.0, -0.0], vec![1.0, f32::NAN], vec![f32::INFINITY, 1.0]] {
    let mut vector: Vec<f32> = original.clone();
    assert!(!normalize(&mut vector));
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&vector), bits(&original));
  }
}

#[test]
fn extreme_magnitudes_are_normalised_without_overflow() {
  for magnitude in [f32::MAX, f32::MIN_POSITIVE, f32::from_bits(1)] {
    let mut vector = vec![magnitude; 4];
    assert!(normalize(&mut vector));
    assert_eq!(vector, [0.5; 4]);
  }
}

#[test]
fn dimensions_are_cut_from_the_end_and_checked() {
  let mut vector = vec![1.0, 2.0, 3.0];
  assert_eq!(reduce_dimensions(&mut vector, 0).unwrap_err().code(), ErrorCode::InvalidInput);
  assert_eq!(reduce_dimensions(&mut vector, 4).unwrap_err().code(), ErrorCode::InvalidInput);
  assert_eq!(vector.len(), 3);
  reduce_dimensions(&mut vector, 2).unwrap();
  assert_eq!(vector, [1.0, 2.0]);
}

#[test]
fn short_texts_fill_the_room_that_long_ones_leave() {
  assert_eq!(pack(&[2, 9, 1, 8], 10, 64), [vec![0, 3], vec![1, 2]]);
  assert_eq!(pack(&[1, 1, 1], 10, 2), [vec![0, 1], vec![2]]);
  assert_eq!(pack(&[], 10, 2), Vec::<Vec<usize>>::new());
}

#[test]
fn a_text_over_the_limit_is_alone() {
  assert_eq!(pack(&[0, 11, 10], 10, 64), [vec![0, 2], vec![1]]);
  assert_eq!(pack(&[1, 1], 10, 0), [vec![0], vec![1]]);
}

proptest! {
  #[test]
  fn truncation_yields_the_limit_and_one_end_of_the_text(
    text in vec(0_i32..100, 1..60),
    limit in 3_usize..70,
    keep_head in any::<bool>(),
  ) {
    let policy = if keep_head { Truncate::Head } else { Truncate::Tail };
    let (fitted, cut) = fit_tokens(framed(&text), limit, policy, FRAME).unwrap();
    prop_assert_eq!(fitted.len(), limit.min(text.len() + 2));
    prop_assert_eq!(cut, text.len() + 2 > limit);
    let kept = fitted.len() - 2;
    let end = if keep_head { &text[..kept] } else { &text[text.len() - kept..] };
    prop_assert_eq!(fitted, framed(end));
  }

  #[test]
  fn normalising_gives_length_one_in_the_same_direction(values in vec(-1e6_f32..1e6, 1..64)) {
    prop_assume!(values.iter().any(|value| value.abs() > 1e-3));
    let mut vector = values.clone();
    prop_assert!(normalize(&mut vector));
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>();
    prop_assert!((dot(&vector, &vector) - 1.0).abs() < 1e-5);
    prop_assert!((dot(&vector, &values) / dot(&values, &values).sqrt() - 1.0).abs() < 1e-5);
  }

  #[test]
  fn packs_hold_every_text_once_within_the_limits(
    lengths in vec(0_usize..=40, 0..80),
    token_limit in 40_usize..120,
    sequence_limit in 1_usize..10,
  ) {
    let packs = pack(&lengths, token_limit, sequence_limit);
    let mut seen: Vec<usize> = packs.concat();
    seen.sort_unstable();
    prop_assert_eq!(seen, (0..lengths.len()).collect::<Vec<_>>());
    for pack in &packs {
      prop_assert!(!pack.is_empty() && pack.len() <= sequence_limit);
      prop_assert!(pack.iter().map(|&index| lengths[index]).sum::<usize>() <= token_limit);
      prop_assert!(pack.is_sorted());
    }
    prop_assert!(packs.is_sorted());
  }

  #[test]
  fn no_two_packs_could_have_been_one(lengths in vec(1_usize..=40, 0..80), sequence_limit in 2_usize..10) {
    let packs = pack(&lengths, 40, sequence_limit);
    let tokens = |pack: &[usize]| pack.iter().map(|&index| lengths[index]).sum::<usize>();
    let open: Vec<usize> = packs.iter().filter(|pack| pack.len() < sequence_limit).map(|pack| tokens(pack)).collect();
    for (index, first) in open.iter().enumerate() {
      prop_assert!(open[index + 1..].iter().all(|second| first + second > 40));
    }
  }
}
