//! What callers may ask for and how refusals read.

use local_inference_core::error::{EngineError, ErrorCode};
use local_inference_core::fit::KvType;
use local_inference_core::options::{
  ContextOptions, FlashAttention, GenerateOptions, LoadOptions, SamplingOptions,
};
use local_inference_core::text::ReasoningTags;

const VOCABULARY: u32 = 32_000;

fn generate(change: impl FnOnce(&mut GenerateOptions)) -> Result<(), EngineError> {
  let mut options = GenerateOptions::default();
  change(&mut options);
  options.validate(VOCABULARY)
}

fn sampling(change: impl FnOnce(&mut SamplingOptions)) -> Result<(), EngineError> {
  generate(|options| change(&mut options.sampling))
}

fn context(change: impl FnOnce(&mut ContextOptions)) -> Result<(), EngineError> {
  let mut options = ContextOptions::default();
  change(&mut options);
  options.validate()
}

#[track_caller]
fn assert_refused(outcome: Result<(), EngineError>, parts: &[&str]) {
  let error = outcome.expect_err(&format!("{parts:?} should be refused"));
  assert_eq!(error.code(), ErrorCode::InvalidInput);
  let message = error.to_string();
  assert!(parts.iter().all(|part| message.contains(part)), "{message:?} lacks one of {parts:?}");
}

#[test]
fn defaults_are_valid() {
  generate(|_| ()).unwrap();
  context(|_| ()).unwrap();
  LoadOptions::default().validate().unwrap();
}

#[test]
fn max_tokens_is_at_least_one() {
  assert_refused(generate(|options| options.max_tokens = Some(0)), &["maxTokens must be at least 1"]);
  generate(|options| options.max_tokens = Some(1)).unwrap();
}

#[test]
fn min_tokens_does_not_exceed_max_tokens() {
  let with = |min, max| {
    generate(|options| {
      options.min_tokens = min;
      options.max_tokens = max;
    })
  };
  assert_refused(with(6, Some(5)), &["minTokens", "6", "maxTokens (5)"]);
  with(5, Some(5)).unwrap();
  with(u32::MAX, None).unwrap();
}

type Set = fn(&mut SamplingOptions, f32);

/// Every float of the sampler with its range.
const FLOATS: &[(&str, Set, f32, f32)] = &[
  ("temperature", |s, v| s.temperature = v, 0.0, 10.0),
  ("topP", |s, v| s.top_p = v, 0.0, 1.0),
  ("minP", |s, v| s.min_p = v, 0.0, 1.0),
  ("typicalP", |s, v| s.typical_p = v, 0.0, 1.0),
  ("repetitionPenalty", |s, v| s.repetition_penalty = v, 0.1, 10.0),
  ("frequencyPenalty", |s, v| s.frequency_penalty = v, -2.0, 2.0),
  ("presencePenalty", |s, v| s.presence_penalty = v, -2.0, 2.0),
  ("dryMultiplier", |s, v| s.dry.multiplier = v, 0.0, 100.0),
  ("dryBase", |s, v| s.dry.base = v, 1.0, 10.0),
  ("xtcProbability", |s, v| s.xtc.probability = v, 0.0, 1.0),
  ("xtcThreshold", |s, v| s.xtc.threshold = v, 0.0, 1.0),
  ("mirostatTau", |s, v| s.mirostat.tau = v, 0.0, 100.0),
  ("mirostatEta", |s, v| s.mirostat.eta = v, 0.0, 1.0),
];

#[test]
fn floats_are_accepted_at_the_ends_of_their_range_and_refused_beyond() {
  for &(name, set, low, high) in FLOATS {
    for value in [low, high] {
      sampling(|options| set(options, value)).unwrap();
    }
    for value in [low.next_down(), high.next_up(), f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX] {
      let parts = [name, &format!("between {low} and {high}"), &format!("got {value}")];
      assert_refused(sampling(|options| set(options, value)), &parts);
    }
  }
}

#[test]
fn integers_of_the_sampler_are_checked() {
  assert_refused(sampling(|options| options.top_k = -1), &["topK", "-1"]);
  assert_refused(sampling(|options| options.penalty_window = -2), &["penaltyWindow", "-2"]);
  assert_refused(sampling(|options| options.penalty_window = i32::MAX), &["penaltyWindow", "1048576"]);
  assert_refused(sampling(|options| options.dry.allowed_length = -1), &["dryAllowedLength", "-1"]);
  assert_refused(sampling(|options| options.dry.window = i32::MAX), &["dryWindow", "1048576"]);
  assert_refused(sampling(|options| options.mirostat.mode = 3), &["mirostat", "between 0 and 2", "3"]);
  sampling(|options| {
    options.top_k = i32::MAX;
    options.penalty_window = -1;
    options.dry.window = -1;
    options.mirostat.mode = 2;
  })
  .unwrap();
}

#[test]
fn sequence_breakers_are_short_texts_without_nul() {
  let with = |breaker: &str| sampling(|options| options.dry.sequence_breakers.push(breaker.into()));
  assert_refused(with(""), &["drySequenceBreakers entry 4", "1 to 40", "0"]);
  assert_refused(with(&"x".repeat(41)), &["drySequenceBreakers entry 4", "41"]);
  assert_refused(with("a\0b"), &["drySequenceBreakers entry 4", "NUL"]);
  let many = || vec!["x".to_owned(); 65];
  assert_refused(sampling(|options| options.dry.sequence_breakers = many()), &["64", "65"]);
}

#[test]
fn biases_are_for_tokens_of_the_vocabulary() {
  let with = |token, bias| sampling(|options| options.logit_bias = vec![(token, bias)]);
  assert_refused(with(-1, 0.0), &["logitBias", "-1", "32000"]);
  assert_refused(with(32_000, 0.0), &["logitBias", "got 32000"]);
  assert_refused(with(5, f32::NAN), &["logitBias", "token 5", "NaN"]);
  assert_refused(with(5, f32::INFINITY), &["logitBias", "token 5", "inf"]);
  with(31_999, f32::NEG_INFINITY).unwrap();
  with(0, 100.0).unwrap();
  let many = || vec![(0, 1.0); VOCABULARY as usize + 1];
  assert_refused(sampling(|options| options.logit_bias = many()), &["logitBias", "32000", "32001"]);
}

#[test]
fn stops_and_tags_are_limited_in_number_and_length() {
  assert_refused(generate(|options| options.text.stops = vec!["x".into(); 65]), &["stops", "64", "65"]);
  let long = || "x".repeat(1_025);
  assert_refused(generate(|options| options.text.stops = vec![long()]), &["stops entry 0", "1024", "1025"]);
  generate(|options| options.text.stops = vec!["x".repeat(1_024); 64]).unwrap();
  generate(|options| options.text.stops = vec![String::new()]).unwrap();
  let tagged = |start: String, ends: Vec<String>| {
    generate(|options| options.text.reasoning = Some(ReasoningTags { start, ends, open: false }))
  };
  assert_refused(tagged(long(), Vec::new()), &["thinking.start", "1025"]);
  assert_refused(tagged("<t>".into(), vec![long()]), &["thinking.ends", "1025"]);
  assert_refused(tagged("<t>".into(), vec!["x".into(); 65]), &["thinking.ends", "65"]);
  tagged("<t>".into(), vec!["</t>".into()]).unwrap();
}

#[test]
fn logprobs_and_preserved_tokens_are_limited() {
  assert_refused(generate(|options| options.logprobs = Some(21)), &["logprobs", "between 0 and 20", "21"]);
  generate(|options| options.logprobs = Some(20)).unwrap();
  let with = |token: &str| generate(|options| options.preserved_tokens = vec![token.into()]);
  assert_refused(with(""), &["preservedTokens entry 0", "0"]);
  assert_refused(with("a\0"), &["preservedTokens entry 0", "NUL"]);
  with("<tool_call>").unwrap();
}

#[test]
fn load_options_are_checked() {
  let below = LoadOptions { gpu_layers: -2, ..LoadOptions::default() };
  assert_refused(below.validate(), &["gpuLayers", "-2"]);
  let huge = LoadOptions { memory_headroom: Some(u64::MAX), ..LoadOptions::default() };
  assert_refused(huge.validate(), &["memoryHeadroomBytes", "9007199254740991"]);
}

#[test]
fn context_options_are_checked() {
  assert_refused(context(|options| options.context_size = Some(u32::MAX)), &["contextSize", "16777216"]);
  assert_refused(context(|options| options.batch_size = 0), &["batchSize", "between 1 and 65536", "0"]);
  assert_refused(context(|options| options.micro_batch_size = 0), &["microBatchSize", "0"]);
  assert_refused(context(|options| options.threads = Some(0)), &["threads", "between 1 and 512", "0"]);
  assert_refused(context(|options| options.threads = Some(513)), &["threads", "513"]);
  assert_refused(context(|options| options.parallel = Some(0)), &["parallel", "between 1 and 256", "0"]);
  assert_refused(context(|options| options.memory_headroom = Some(1 << 53)), &["memoryHeadroomBytes"]);
}

#[test]
fn a_context_has_a_token_for_each_sequence() {
  let with = |size| {
    context(|options| {
      options.context_size = Some(size);
      options.parallel = Some(8);
    })
  };
  assert_refused(with(7), &["contextSize", "between 8", "7"]);
  with(8).unwrap();
  with(0).unwrap();
}

#[test]
fn a_context_size_of_zero_asks_for_the_largest() {
  let size = |context_size| ContextOptions { context_size, ..ContextOptions::default() }.requested_size();
  assert_eq!([size(None), size(Some(0)), size(Some(4_096))], [None, None, Some(4_096)]);
}

#[test]
fn a_micro_batch_is_no_larger_than_the_batch() {
  let options = ContextOptions { batch_size: 128, ..ContextOptions::default() };
  options.validate().unwrap();
  assert_eq!(options.effective_micro_batch(), 128);
}

#[test]
fn quantized_values_need_flash_attention() {
  let with = |kind, flash_attention| {
    context(|options| {
      options.kv_type_v = Some(kind);
      options.flash_attention = flash_attention;
    })
  };
  assert_refused(with(KvType::Q8_0, FlashAttention::Off), &["kvTypeV", "q8_0", "flashAttention"]);
  with(KvType::F16, FlashAttention::Off).unwrap();
  with(KvType::Q8_0, FlashAttention::Auto).unwrap();
}

#[test]
fn flash_attention_is_read_by_name() {
  let read: Vec<FlashAttention> = ["auto", "on", "off"].iter().map(|name| name.parse().unwrap()).collect();
  assert_eq!(read, [FlashAttention::Auto, FlashAttention::On, FlashAttention::Off]);
  assert_refused("yes".parse::<FlashAttention>().map(|_| ()), &["flashAttention", "yes"]);
}
