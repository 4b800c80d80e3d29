// The common sampler, with a ban on end-of-generation tokens, a short way for plain greedy decoding, and the acceptance
// of drafted tokens.
#include "draft.h"
#include "guard.h"

#include "sampling.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

struct li_sampler {
  common_sampler_ptr sampler;
  std::vector<llama_token> ends;
  int32_t vocabulary = 0;
  bool plain_greedy = false;
  // Decides on drafted tokens: independent of what was drafted, or the distribution would not be the model's.
  std::mt19937 verdicts;
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

double probability_of(const std::vector<llama_token_data> & candidates, llama_token token) {
  for (const llama_token_data & candidate : candidates) {
    if (candidate.id == token) {
      return candidate.p;
    }
  }
  return 0.0;
}

// Leviathan et al. 2023, algorithm 1: the drafted token x is kept with probability min(1, p(x) / q(x)), otherwise the
// token is drawn from max(0, p - q). `p` is what the chain left of the model's distribution, `q` what the draft was drawn
// from. `chosen` is what the chain itself drew: the answer where p and q are equal but for rounding.
llama_token keep_or_redraw(li_sampler * sampler, const std::vector<llama_token_data> & q, llama_token drafted,
                           llama_token chosen) {
  const llama_token_data_array * p = common_sampler_get_candidates(sampler->sampler.get(), false);
  double total = 0.0;
  double own = 0.0;
  for (size_t i = 0; i < p->size; ++i) {
    total += p->data[i].p;
    own += p->data[i].id == drafted ? p->data[i].p : 0.0;
  }
  const double theirs = probability_of(q, drafted);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  if (uniform(sampler->verdicts) * theirs * total < own) {
    return drafted;
  }
  std::vector<double> rest(p->size);
  double sum = 0.0;
  for (size_t i = 0; i < p->size; ++i) {
    rest[i] = std::max(0.0, p->data[i].p / total - probability_of(q, p->data[i].id));
    sum += rest[i];
  }
  if (!(sum > 0.0)) {
    return chosen;
  }
  std::discrete_distribution<size_t> redraw(rest.begin(), rest.end());
  return p->data[redraw(sampler->verdicts)].id;
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
    // Another stream than the chain's, which begins with the same seed.
    result->verdicts.seed(common_sampler_get_seed(result->sampler.get()) ^ 0x9e3779b9u);
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

llama_token li_sampler_verify(li_sampler * sampler, llama_context * context, int32_t row, bool ban_end,
                              const li_drafter * drafter, llama_seq_id sequence, size_t place, llama_token drafted,
                              li_error * error) {
  return li::guard<llama_token>(error, LI_FAILED, LLAMA_TOKEN_NULL, [&] {
    llama_token token = choose(sampler, context, row, ban_end, nullptr, 0);
    const std::vector<llama_token_data> * q = li_drafted_from(drafter, sequence, place);
    if (token != LLAMA_TOKEN_NULL && !sampler->plain_greedy) {
      if (q != nullptr) {
        token = keep_or_redraw(sampler, *q, drafted, token);
      }
      common_sampler_accept(sampler->sampler.get(), token, true);
    }
    return token;
  });
}
