// What llama.cpp takes by itself, without this package around it. Prints one JSON object for each measurement.
//   llama-cpp costs MODULES THREADS MODEL                               a decode of several tokens, in decodes of one
//   llama-cpp drafts MODULES THREADS MODEL DRAFTER KIND TOKENS PROMPT   plain decoding, then drafts of each length
// MODULES is the folder of ggml's backend modules, KIND a name of common_speculative (draft-mtp, draft-simple).
#include "common.h"
#include "llama.h"
#include "log.h"
#include "sampling.h"
#include "speculative.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr int context_size = 2048;
constexpr int longest_draft = 8;
const std::string not_opened = "the model could not be opened (is it there? node scripts/dev-models.mjs --list): ";

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

common_params params_for(const std::string & model, int threads) {
  common_params params;
  params.model.path = model;
  params.n_ctx = context_size;
  params.n_predict = -1;
  params.cpuparams.n_threads = threads;
  params.cpuparams_batch.n_threads = threads;
  params.sampling.temp = 0.0f;
  return params;
}

void decode(llama_context * context, common_batch & batch) {
  if (llama_process(context, LLAMA_PROCESS_TYPE_DECODE, batch.get()) != 0) {
    throw std::runtime_error("a decode failed");
  }
}

// Medians over rounds in which all sizes take turns; each is the fastest of three decodes at the same position.
void costs(const std::string & model, int threads) {
  constexpr int rounds = 9, start = 128;
  const std::vector<int> sizes = {1, 2, 3, 4, 5, 6, 8, 9};
  common_params params = params_for(model, threads);
  params.n_outputs_max = params.n_outputs_max_per_seq = start;
  const auto init = common_init_from_params(params);
  llama_context * context = init->context();
  if (context == nullptr) {
    throw std::runtime_error(not_opened + model);
  }
  common_batch batch(context);
  const auto timed = [&](int tokens, int position) {
    batch.clear();
    for (int index = 0; index < tokens; ++index) {
      batch.add(100 + 7 * index, position + index, 0, true);
    }
    const double before = seconds();
    decode(context, batch);
    llama_synchronize(context);
    return seconds() - before;
  };
  timed(start, 0);
  std::vector<std::vector<double>> taken(sizes.size());
  for (int round = 0; round < rounds; ++round) {
    for (size_t which = 0; which < sizes.size(); ++which) {
      double best = 1e9;
      for (int repeat = 0; repeat < 3; ++repeat) {
        best = std::min(best, timed(sizes[which], start));
        llama_memory_seq_rm(llama_get_memory(context), 0, start, -1);
      }
      taken[which].push_back(best);
    }
  }
  for (auto & times : taken) {
    std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  }
  const double one = taken[0][rounds / 2];
  printf("{\"milliseconds\":%.3f,\"costs\":{", 1e3 * one);
  for (size_t which = 0; which < sizes.size(); ++which) {
    printf("%s\"%d\":%.3f", which ? "," : "", sizes[which], taken[which][rounds / 2] / one);
  }
  printf("}}\n");
}

struct Pair {
  common_init_result_ptr target;
  common_speculative_init_result_ptr drafter;
  common_speculative_ptr speculative;
};

// A context of its own for each length: the length of a draft is settled when the speculation is made.
Pair open(common_params & params) {
  Pair pair;
  const auto limits = common_speculative_get_output_limits(
      params.n_batch, params.n_parallel, common_speculative_n_max(&params.speculative));
  params.n_outputs_max = limits.total;
  params.n_outputs_max_per_seq = limits.per_seq;
  pair.target = common_init_from_params(params);
  if (pair.target->context() == nullptr) {
    throw std::runtime_error(not_opened + params.model.path);
  }
  if (params.speculative.has_dft()) {
    common_params draft_params = common_base_params_to_speculative(params);
    pair.drafter = common_speculative_init_from_params(draft_params, pair.target->model(), pair.target->context());
    params.speculative.draft.ctx_tgt = pair.target->context();
    params.speculative.draft.ctx_dft = pair.drafter->context();
    pair.speculative.reset(common_speculative_init(params.speculative, 1));
    if (!pair.speculative) {
      throw std::runtime_error("speculation could not be started");
    }
  }
  return pair;
}

// Greedy tokens after the prompt, in steps of a draft and its verification.
void generate(common_params params, const std::string & prompt, int wanted, int length) {
  Pair pair = open(params);
  llama_context * context = pair.target->context();
  llama_context * draft_context = pair.drafter ? pair.drafter->context() : nullptr;
  common_sampler_ptr sampler(common_sampler_init(pair.target->model(), params.sampling));
  llama_tokens history = common_tokenize(context, prompt, true, true);
  llama_token last = history.back();
  history.pop_back();

  common_batch batch(context);
  for (size_t index = 0; index < history.size(); ++index) {
    batch.add(history[index], llama_pos(index), 0, false);
  }
  decode(context, batch);
  if (pair.speculative) {
    common_speculative_process(pair.speculative.get(), batch);
    common_speculative_begin(pair.speculative.get(), 0, history);
  }

  int produced = 0, drafted = 0, accepted = 0;
  const double before = seconds();
  while (produced < wanted) {
    const llama_pos position = llama_pos(history.size());
    llama_tokens draft;
    if (pair.speculative) {
      auto & request = common_speculative_get_draft_params(pair.speculative.get(), 0);
      request.drafting = true;
      request.n_max = wanted - produced - 1;
      request.pos0 = position;
      request.id_last = last;
      request.prompt = &history;
      request.result = &draft;
      if (request.n_max > 0) {
        common_speculative_draft(pair.speculative.get());
      }
      llama_memory_seq_rm(llama_get_memory(draft_context), 0, position, -1);
    }
    batch.clear();
    batch.add(last, position, 0, true);
    for (size_t index = 0; index < draft.size(); ++index) {
      batch.add(draft[index], position + 1 + llama_pos(index), 0, true);
    }
    decode(context, batch);
    if (pair.speculative) {
      common_speculative_process(pair.speculative.get(), batch);
    }
    const llama_tokens kept = common_sampler_sample_and_accept_n(sampler.get(), context, draft);
    if (pair.speculative) {
      common_speculative_accept(pair.speculative.get(), 0, uint16_t(kept.size() - 1));
    }
    drafted += int(draft.size());
    accepted += int(kept.size()) - 1;
    produced += int(kept.size());
    for (const llama_token token : kept) {
      history.push_back(last);
      last = token;
    }
    llama_memory_seq_rm(llama_get_memory(context), 0, llama_pos(history.size()), -1);
    if (draft_context != nullptr) {
      llama_memory_seq_rm(llama_get_memory(draft_context), 0, llama_pos(history.size()), -1);
    }
  }
  printf("{\"window\":%d,\"rate\":%.3f,\"drafted\":%d,\"accepted\":%d}\n", length, produced / (seconds() - before),
         drafted, accepted);
  fflush(stdout);
}

void drafts(char ** arguments, const std::string & model, int threads) {
  const int tokens = std::atoi(arguments[2]);
  for (int length = 0; length <= longest_draft; ++length) {
    common_params params = params_for(model, threads);
    if (length > 0) {
      params.speculative.types = {common_speculative_type_from_name(arguments[1])};
      params.speculative.draft.mparams.path = arguments[0];
      params.speculative.draft.n_max = length;
      params.speculative.draft.cpuparams = params.cpuparams;
      params.speculative.draft.cpuparams_batch = params.cpuparams_batch;
    }
    generate(params, arguments[3], tokens, length);
  }
}

}  // namespace

int main(int count, char ** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "";
  if (!(mode == "costs" && count == 5) && !(mode == "drafts" && count == 9)) {
    fprintf(stderr, "see the head of llama-cpp.cpp\n");
    return 2;
  }
  common_log_set_verbosity_thold(-1);
  llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
  ggml_backend_load_all_from_path(arguments[2]);
  llama_backend_init();
  const int threads = std::atoi(arguments[3]);
  try {
    mode == "costs" ? costs(arguments[4], threads) : drafts(arguments + 5, arguments[4], threads);
  } catch (const std::exception & error) {
    fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
