//! Generation with a real model.

use crate::support::{chatml, collect, greedy, load, open, smollm2, submit};
use local_inference_core::generate::FinishReason;

#[test]
fn smollm2_knows_the_capital_of_france() {
  let model = load(&smollm2());
  let context = open(&model, 512);
  let prompt = chatml("What is the capital of France?");
  let answer = collect(&submit(&context, &model, &prompt, greedy(32))).unwrap();
  assert!(answer.text.contains("Paris"), "{}", answer.text);
  assert_eq!(answer.finished.reason, FinishReason::Stop);
  assert!(!answer.text.contains("<|im_end|>"), "{}", answer.text);
  context.close();
}
