// A drafter in use, for the files of the shim that work on it.
#pragma once

#include "draft.h"

#include "common.h"
#include "sampling.h"
#include "speculative.h"

#include <memory>
#include <vector>

namespace li {

using distributions = std::vector<std::vector<llama_token_data>>;

struct draft_state {
  int32_t most;
  common_speculative_ptr speculative;
};

// What the heads know of a sequence.
struct head_sequence {
  common_sampler_ptr sampler;
  // What the sampler was made for; without a temperature it ranks only.
  float temperature = 0.0f;
  uint32_t seed = 0;
  // The target's hidden state after the token at `position`: the next token is evaluated with it.
  std::vector<float> hidden;
  llama_pos position = -1;
  // Its rows in the target's latest batch.
  int32_t first = 0;
  int32_t rows = 0;
  llama_pos first_position = 0;
  // While drafting: rows of the hidden states that the draft goes on from, the tokens so far being those of the draft.
  std::vector<float> chain;
  int32_t output = -1;
};

// The target's own heads, in a context of their own.
struct own_heads {
  llama_context * target;
  llama_context * context;
  size_t width;
  int32_t count;
  int32_t capacity;
  common_batch batch;
  std::vector<head_sequence> sequences;
};

std::unique_ptr<own_heads> open_heads(llama_context * target, llama_context * context, uint32_t sequences);

// Drafts into `drafts` and `probabilities` of the drafter; the requests are valid.
void draft_with_heads(li_drafter & drafter, const li_draft_request * requests, size_t count);

} // namespace li

struct li_drafter {
  int32_t kind = LI_DRAFT_ASSISTANT;
  uint32_t sequences = 0;
  int32_t vocabulary = 0;
  int32_t target_vocabulary = 0;
  // None for heads.
  std::vector<li::draft_state> states;
  std::unique_ptr<li::own_heads> heads;
  std::vector<llama_tokens> drafts;
  std::vector<li::distributions> probabilities;
  llama_tokens no_prompt;
};
