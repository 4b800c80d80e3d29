// Plain C functions over llama.cpp for what its C API lacks (chat templates, the common sampler) or may throw from.
// No exception leaves an entry point: each reports through li_error and returns a value that says so.
#pragma once

#include "llama.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum li_status { LI_OK = 0, LI_FAILED = 1, LI_OUT_OF_MEMORY = 2, LI_BAD_TEMPLATE = 3, LI_BAD_INPUT = 5 };

struct li_error {
  int32_t status;
  char message[1024];
};

// load.cpp
// Silences the logger of llama.cpp's `common`, which writes to stderr by itself.
void li_quiet(void);
struct llama_model * li_model_load(const char * path, struct llama_model_params params, struct li_error * error);
struct llama_context * li_context_new(struct llama_model * model, struct llama_context_params params, struct li_error * error);
// Largest layer split and context that fit the free memory of the devices; changes only what still has its default.
int32_t li_fit_params(const char * path, struct llama_model_params * model_params, struct llama_context_params * context_params,
                      uint32_t minimum_context, struct li_error * error);

// text.cpp: both return the number of items, or a negative number whose magnitude is the capacity needed.
int32_t li_tokenize(const struct llama_vocab * vocab, const char * text, size_t length, llama_token * out, int32_t capacity,
                    bool add_special, bool parse_special, struct li_error * error);
int32_t li_detokenize(const struct llama_vocab * vocab, const llama_token * tokens, int32_t count, char * out, int32_t capacity,
                      bool unparse_special, struct li_error * error);
int32_t li_piece(const struct llama_vocab * vocab, llama_token token, char * out, int32_t capacity, bool special,
                 struct li_error * error);

// chat.cpp: renders `input_json` (see chat.cpp) to a JSON object; free it with li_string_free.
struct li_chat;
struct li_chat * li_chat_new(const struct llama_model * model, const char * source, struct li_error * error);
void li_chat_free(struct li_chat * chat);
char * li_chat_render(const struct li_chat * chat, const char * input_json, struct li_error * error);
void li_string_free(char * text);

// parse.cpp: reads an answer of a rendered chat to a JSON object (content, reasoning, calls); free it with li_string_free.
struct li_chat_parser;
struct li_chat_parser * li_chat_parser_new(int32_t format, const char * generation_prompt, const char * parser,
                                           struct li_error * error);
void li_chat_parser_free(struct li_chat_parser * parser);
char * li_chat_parser_parse(const struct li_chat_parser * parser, const char * text, bool partial, struct li_error * error);

// sample.cpp
struct li_sampling {
  uint32_t seed;
  float temperature, top_p, min_p, typical_p;
  int32_t top_k;
  float repetition_penalty, frequency_penalty, presence_penalty;
  int32_t penalty_window;
  float dry_multiplier, dry_base;
  int32_t dry_allowed_length, dry_window;
  const char * const * dry_breakers;
  size_t dry_breaker_count;
  float xtc_probability, xtc_threshold;
  int32_t mirostat;
  float mirostat_tau, mirostat_eta;
  const struct llama_logit_bias * logit_bias;
  size_t logit_bias_count;
};
struct li_sampler;
struct li_sampler * li_sampler_new(const struct llama_model * model, const struct li_sampling * sampling, struct li_error * error);
void li_sampler_free(struct li_sampler * sampler);
uint32_t li_sampler_seed(const struct li_sampler * sampler);
void li_sampler_history(struct li_sampler * sampler, const llama_token * tokens, size_t count, struct li_error * error);
// LLAMA_TOKEN_NULL without an error when no token is left to choose.
llama_token li_sampler_sample(struct li_sampler * sampler, struct llama_context * context, int32_t row, bool ban_end,
                              struct li_error * error);
// As li_sampler_sample, but the sampler does not learn of the token: li_sampler_accept tells it. With a mask (one bit a
// token, `words` words) the other tokens are ruled out, in the context's logits. `greedy` takes the likeliest of those that
// the chain leaves.
llama_token li_sampler_propose(struct li_sampler * sampler, struct llama_context * context, int32_t row, bool ban_end,
                               bool greedy, const uint32_t * mask, size_t words, struct li_error * error);
void li_sampler_accept(struct li_sampler * sampler, llama_token token, struct li_error * error);

// decode.cpp: the result of llama_decode; an exception is LI_DECODE_THREW with the reason in `error`.
enum { LI_DECODE_THREW = -1000 };
int32_t li_decode(struct llama_context * context, struct llama_batch batch, struct li_error * error);

#ifdef __cplusplus
}
#endif
