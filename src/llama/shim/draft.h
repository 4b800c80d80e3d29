// Drafting for speculative decoding, by llama.cpp's `common_speculative`.
#pragma once

#include "shim.h"

#ifdef __cplusplus
extern "C" {
#endif

// A model that shares the target's KV cache, one of its own tokens, and the target's heads with a KV cache of their own.
enum li_draft_kind { LI_DRAFT_ASSISTANT = 0, LI_DRAFT_MODEL = 1, LI_DRAFT_HEADS = 2 };

struct li_drafter;

struct li_draft_request {
  llama_seq_id sequence;
  llama_token last;  // the newest token, which the target has not evaluated
  llama_pos position; // its position
  int32_t most;      // tokens wanted, at least 1
  float temperature; // above 0: draws from the drafter at this temperature and keeps its probabilities
  uint32_t seed;
};

// A description of the first token whose text differs, or an empty string. `first` tokens are not compared.
void li_vocabulary_difference(const struct llama_model * target, const struct llama_model * draft, int32_t first, char * out,
                              size_t capacity, struct li_error * error);

// Drafts up to `most` tokens for each of `sequences`; both contexts must outlive it.
struct li_drafter * li_drafter_new(int32_t kind, struct llama_context * target, struct llama_context * draft,
                                   uint32_t sequences, int32_t most, struct li_error * error);
void li_drafter_free(struct li_drafter * drafter);

// A new text begins in `sequence`: the same request gives the same drafts.
void li_drafter_begin(struct li_drafter * drafter, llama_seq_id sequence, struct li_error * error);

// Evaluates tokens in a draft model's context, without logits. The result is that of llama_decode.
int32_t li_draft_feed(struct llama_context * draft, llama_seq_id sequence, const llama_token * tokens, int32_t count,
                      llama_pos position, struct li_error * error);

// Assistant: takes the hidden states that the next drafts continue from, of the target's last decode: of sequence i the one at
// `rows[i]`, a row with logits.
void li_drafter_observe(struct li_drafter * drafter, const llama_seq_id * sequences, const int32_t * rows, size_t count,
                        struct li_error * error);

// Heads: takes over the target's last decode, which was of `batch`; before each token of it the heads' KV cache must have
// all tokens of its sequence, or none. False when it had no room: what it has of these sequences is then to be removed.
bool li_drafter_follow(struct li_drafter * drafter, struct llama_batch batch, struct li_error * error);

// Heads: the next draft for `sequence` continues from row `row` of the batch that was followed last. False if it cannot.
bool li_drafter_continue(struct li_drafter * drafter, llama_seq_id sequence, int32_t row, struct li_error * error);

// Drafts for several sequences in the same decodes. Tokens of request i go to out[i * stride], their number to lengths[i].
void li_drafter_draft(struct li_drafter * drafter, const struct li_draft_request * requests, size_t count, llama_token * out,
                      size_t stride, int32_t * lengths, struct li_error * error);

// The token that follows row `row`, where `token` was drawn from the drafter at place `place` of the latest draft of
// `sequence`: that token, or one of what the model finds more likely than the drafter does. Tells the sampler of it.
llama_token li_sampler_verify(struct li_sampler * sampler, struct llama_context * context, int32_t row, bool ban_end,
                              const struct li_drafter * drafter, llama_seq_id sequence, size_t place, llama_token token,
                              struct li_error * error);

#ifdef __cplusplus
}

#include <vector>

// The drafter's candidates and their probabilities at a place of the latest draft of `sequence`; null if it was not drawn.
const std::vector<llama_token_data> * li_drafted_from(const li_drafter * drafter, llama_seq_id sequence, size_t place);
#endif
