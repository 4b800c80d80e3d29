// The common sampler, with a ban on end-of-generation tokens and a short way for plain greedy decoding.
#include "guard.h"

#include "sampling.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <vector>

struct li_sampler {
  common_sampler_ptr sampler;
  std::vector<llama_token> ends;
  int32_t vocabulary = 0;
  bool plain_greedy = false;
};

namespace {

common_params_sampling to_common(const li_sampling & in) {
  common_params_sampling out;
  out.no_perf = true;
  out.seed = in.seed;
  out.temp = in.temperature;
  out.top_p = in.top_p;
  out.min_p = in.min_p;
  out.typ_p = in.typical_p;
  out.top_k = in.top_k;
  out.penalty_repeat = in.repetition_penalty;
  out.penalty_freq = in.frequency_penalty;
  out.penalty_present = in.presence_penalty;
  out.penalty_last_n = in.penalty_window;
  out.dry_multiplier = in.dry_multiplier;
  out.dry_base = in.dry_base;
  out.dry_allowed_length = in.dry_allowed_length;
  out.dry_penalty_last_n = in.dry_window;
  out.dry_sequence_breakers.assign(in.dry_breakers, in.dry_breakers + in.dry_breaker_count);
  out.xtc_probability = in.xtc_probability;
  out.xtc_threshold = in.xtc_threshold;
  out.mirostat = in.mirostat;
  out.mirostat_tau = in.mirostat_tau;
  out.mirostat_eta = in.mirostat_eta;
  out.logit_bias.assign(in.logit_bias, in.logit_bias + in.logit_bias_count);
  return out;
}

bool is_plain_greedy(const llama_model * model, const li_sampling & in) {
  int32_t suppressed = 0;
  llama_vocab_get_suppress_tokens(llama_model_get_vocab(model), &suppressed);
  const bool penalties = in.repetition_penalty != 1.0f || in.frequency_penalty != 0.0f || in.presence_penalty != 0.0f;
  return in.temperature <= 0.0f && !penalties && in.dry_multiplier == 0.0f && in.xtc_probability == 0.0f &&
         in.mirostat == 0 && in.logit_bias_count == 0 && suppressed == 0;
}

// LLAMA_TOKEN_NULL when every logit is -inf or NaN.
llama_token most_likely(const float * logits, int32_t count) {
  llama_token best = LLAMA_TOKEN_NULL;
  float most = -INFINITY;
  for (int32_t token = 0; token < count; ++token) {
    if (logits[token] > most) {
      most = logits[token];
      best = token;
    }
  }
  return best;
}

// Whether the sampler chose among tokens: with every one of them ruled out it still names one.
bool chose(common_sampler * sampler) {
  const llama_token_data_array * candidates = common_sampler_get_candidates(sampler, false);
  return candidates != nullptr && candidates->selected >= 0 && size_t(candidates->selected) < candidates->size &&
         std::isfinite(candidates->data[candidates->selected].logit);
}

// The token that a greedy chain would have taken: filters keep the likeliest one.
llama_token likeliest_left(common_sampler * sampler) {
  const llama_token_data_array * candidates = common_sampler_get_candidates(sampler, false);
  const auto less = [](const llama_token_data & a, const llama_token_data & b) { return a.logit < b.logit; };
  return std::max_element(candidates->data, candidates->data + candidates->size, less)->id;
}

void rule_out(float * logits, int32_t count, const uint32_t * mask, size_t words) {
  for (int32_t token = 0; token < count; ++token) {
    const size_t word = size_t(token) / 32;
    if (word >= words || (mask[word] >> (token % 32) & 1) == 0) {
      logits[token] = -INFINITY;
    }
  }
}

// Rules the ends of an answer out while it lives. The same row may be asked once more without: where a grammar leaves
// nothing but the end, it may come after all.
class ended {
public:
  ended(float * logits, const std::vector<llama_token> & tokens) : logits(logits) {
    for (const llama_token token : tokens) {
      saved.emplace_back(token, logits[token]);
      logits[token] = -INFINITY;
    }
  }
  ~ended() {
    for (const auto & [token, logit] : saved) {
      logits[token] = logit;
    }
  }
  ended(const ended &) = delete;
  ended & operator=(const ended &) = delete;

private:
  float * logits;
  std::vector<std::pair<llama_token, float>> saved;
};

// LLAMA_TOKEN_NULL when no token is left to choose.
llama_token choose(li_sampler * sampler, llama_context * context, int32_t row, bool ban_end, const uint32_t * mask,
                   size_t words) {
  float * logits = llama_get_logits_ith(context, row);
  if (logits == nullptr) {
    throw std::runtime_error("the position has no logits");
  }
  const ended ends(logits, ban_end ? sampler->ends : std::vector<llama_token>());
  if (mask != nullptr) {
    rule_out(logits, sampler->vocabulary, mask, words);
  }
  const llama_token likely = most_likely(logits, sampler->vocabulary);
  if (sampler->plain_greedy || likely == LLAMA_TOKEN_NULL) {
    return likely;
  }
  const llama_token token = common_sampler_sample(sampler->sampler.get(), context, row);
  return chose(sampler->sampler.get()) ? token : llama_token(LLAMA_TOKEN_NULL);
}

} // namespace

li_sampler * li_sampler_new(const llama_model * model, const li_sampling * sampling, li_error * error) {
  return li::guard<li_sampler *>(error, LI_FAILED, nullptr, [&] {
    auto result = std::make_unique<li_sampler>();
    common_params_sampling params = to_common(*sampling);
    result->sampler.reset(common_sampler_init(model, params));
    if (!result->sampler) {
      throw std::runtime_error("the sampler could not be created");
    }
    const llama_vocab * vocab = llama_model_get_vocab(model);
    result->vocabulary = llama_vocab_n_tokens(vocab);
    for (llama_token token = 0; token < result->vocabulary; ++token) {
      if (llama_vocab_is_eog(vocab, token)) {
        result->ends.push_back(token);
      }
    }
    result->plain_greedy = is_plain_greedy(model, *sampling);
    return result.release();
  });
}

void li_sampler_free(li_sampler * sampler) {
  delete sampler;
}

uint32_t li_sampler_seed(const li_sampler * sampler) {
  return common_sampler_get_seed(sampler->sampler.get());
}

void li_sampler_history(li_sampler * sampler, const llama_token * tokens, size_t count, li_error * error) {
  li::guard<int>(error, LI_FAILED, 0, [&] {
    for (size_t i = 0; i < count; ++i) {
      common_sampler_accept(sampler->sampler.get(), tokens[i], false);
    }
    return 0;
  });
}

llama_token li_sampler_sample(li_sampler * sampler, llama_context * context, int32_t row, bool ban_end, li_error * error) {
  return li::guard<llama_token>(error, LI_FAILED, LLAMA_TOKEN_NULL, [&] {
    const llama_token token = choose(sampler, context, row, ban_end, nullptr, 0);
    if (token != LLAMA_TOKEN_NULL && !sampler->plain_greedy) {
      common_sampler_accept(sampler->sampler.get(), token, true);
    }
    return token;
  });
}

llama_token li_sampler_propose(li_sampler * sampler, llama_context * context, int32_t row, bool ban_end, bool greedy,
                               const uint32_t * mask, size_t words, li_error * error) {
  return li::guard<llama_token>(error, LI_FAILED, LLAMA_TOKEN_NULL, [&] {
    const llama_token token = choose(sampler, context, row, ban_end, mask, words);
    const bool drawn = token != LLAMA_TOKEN_NULL && !sampler->plain_greedy;
    return greedy && drawn ? likeliest_left(sampler->sampler.get()) : token;
  });
}

void li_sampler_accept(li_sampler * sampler, llama_token token, li_error * error) {
  li::guard<int>(error, LI_FAILED, 0, [&] {
    if (!sampler->plain_greedy) {
      common_sampler_accept(sampler->sampler.get(), token, true);
    }
    return 0;
  });
}
