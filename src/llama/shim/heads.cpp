// Drafting with the target's own multi-token-prediction heads. llama.cpp's `common_speculative` does the same, but each of its
// drafts has the length that its state was made for, and several states would evaluate every token several times.
#include "drafter.h"
#include "guard.h"

#include "../src/llama-ext.h"

#include <algorithm>
#include <stdexcept>

namespace li {
namespace {

// Of these the most likely one is drafted, or one is drawn.
constexpr int32_t candidates = 10;

common_sampler_ptr sampler_for(const own_heads & heads, float temperature, uint32_t seed) {
  common_params_sampling params;
  params.top_k = candidates;
  params.samplers = {COMMON_SAMPLER_TYPE_TOP_K};
  if (temperature > 0.0f) {
    params.temp = temperature;
    params.seed = seed;
    params.samplers.push_back(COMMON_SAMPLER_TYPE_TEMPERATURE);
  }
  common_sampler_ptr sampler(common_sampler_init(llama_get_model(heads.context), params));
  if (!sampler) {
    throw std::runtime_error("no sampler could be made");
  }
  return sampler;
}

// A drawing sampler goes on with its random numbers from draft to draft.
void tune(const own_heads & heads, head_sequence & sequence, float temperature, uint32_t seed) {
  if (sequence.temperature != temperature || sequence.seed != seed) {
    sequence.sampler = sampler_for(heads, temperature, seed);
    sequence.temperature = temperature;
    sequence.seed = seed;
  } else if (temperature <= 0.0f) {
    common_sampler_reset(sequence.sampler.get());
  }
}

void add(own_heads & heads, llama_token token, llama_pos position, llama_seq_id sequence, bool output, const float * hidden) {
  const int32_t index = heads.batch.add(token, position, sequence, output);
  heads.batch.set_embd(index, {hidden, 1, heads.width});
}

void remember(own_heads & heads, head_sequence & sequence, int32_t row) {
  const float * hidden = llama_get_embeddings_nextn_ith(heads.target, row);
  if (hidden == nullptr) {
    throw std::runtime_error("the model gave no hidden state");
  }
  sequence.hidden.assign(hidden, hidden + heads.width);
  sequence.position = sequence.first_position + (row - sequence.first);
}

// llama.cpp aborts over a token or a sequence that does not exist, and continues each sequence by the row before.
void check(own_heads & heads, const llama_batch & batch) {
  const int32_t vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(llama_get_model(heads.context)));
  if (batch.n_tokens > heads.capacity) {
    throw std::out_of_range("the batch is larger than the heads take");
  }
  for (head_sequence & each : heads.sequences) {
    each.rows = 0;
  }
  for (int32_t row = 0; row < batch.n_tokens; ++row) {
    const llama_seq_id id = batch.seq_id[row][0];
    if (id < 0 || size_t(id) >= heads.sequences.size() || batch.token[row] < 0 || batch.token[row] >= vocabulary) {
      throw std::out_of_range("the batch has a token or sequence that does not exist");
    }
    head_sequence & sequence = heads.sequences[size_t(id)];
    if (sequence.rows == 0) {
      sequence.first = row;
      sequence.first_position = batch.pos[row];
    } else if (sequence.first + sequence.rows != row || sequence.first_position + sequence.rows != batch.pos[row]) {
      throw std::invalid_argument("the tokens of a sequence do not follow each other in the batch");
    }
    sequence.rows += 1;
  }
}

// Every token goes with the hidden state of the one before it.
void render(own_heads & heads, const llama_batch & batch) {
  const float * hidden = llama_get_embeddings_nextn(heads.target);
  if (hidden == nullptr) {
    throw std::runtime_error("the model gave no hidden states");
  }
  heads.batch.clear();
  for (int32_t row = 0; row < batch.n_tokens; ++row) {
    const llama_seq_id id = batch.seq_id[row][0];
    head_sequence & sequence = heads.sequences[size_t(id)];
    const float * before = hidden + (size_t(row) - 1) * heads.width;
    if (row == sequence.first) {
      if (batch.pos[row] == 0 || sequence.position + 1 != batch.pos[row]) {
        // There is none, or the beginning came from elsewhere and its last hidden state is not known.
        sequence.hidden.assign(heads.width, 0.0f);
      }
      before = sequence.hidden.data();
    }
    add(heads, batch.token[row], batch.pos[row], id, false, before);
  }
}

// Evaluates the batch by one head. Several share the cells of a position, each with a layer of its own, so that what another
// head put there is taken out first: from position `from(sequence)` on, where that is not negative.
template <typename From> bool evaluate(own_heads & heads, int32_t head, From && from) {
  if (heads.count > 1) {
    for (size_t id = 0; id < heads.sequences.size(); ++id) {
      const llama_pos start = from(heads.sequences[id], id);
      if (start >= 0) {
        llama_memory_seq_rm(llama_get_memory(heads.context), llama_seq_id(id), start, -1);
      }
    }
    llama_set_nextn_layer_offset(heads.context, head);
  }
  return llama_process(heads.context, LLAMA_PROCESS_TYPE_DECODE, heads.batch.get()) == 0;
}

// Takes the next token of a draft.
void take(li_drafter & drafter, const li_draft_request & request) {
  own_heads & heads = *drafter.heads;
  head_sequence & sequence = heads.sequences[size_t(request.sequence)];
  common_sampler * sampler = sequence.sampler.get();
  const llama_token drawn = common_sampler_sample(sampler, heads.context, sequence.output, true);
  const llama_token_data_array * ranked = common_sampler_get_candidates(sampler, true);
  const llama_token token = request.temperature > 0.0f ? drawn : ranked->data[0].id;
  if (request.temperature > 0.0f) {
    drafter.probabilities[size_t(request.sequence)].emplace_back(ranked->data, ranked->data + ranked->size);
  }
  common_sampler_accept(sampler, token, true);
  const float * hidden = llama_get_embeddings_nextn_ith(heads.context, sequence.output);
  if (hidden == nullptr) {
    throw std::runtime_error("the heads gave no hidden state");
  }
  sequence.chain.insert(sequence.chain.end(), hidden, hidden + heads.width);
  drafter.drafts[size_t(request.sequence)].push_back(token);
}

// Adds what the next step of a draft evaluates: its newest token, or all of it where another head comes next.
void extend(li_drafter & drafter, const li_draft_request & request) {
  own_heads & heads = *drafter.heads;
  head_sequence & sequence = heads.sequences[size_t(request.sequence)];
  const llama_tokens & draft = drafter.drafts[size_t(request.sequence)];
  for (size_t place = heads.count > 1 ? 0 : draft.size(); place <= draft.size(); ++place) {
    const llama_token token = place == 0 ? request.last : draft[place - 1];
    sequence.output = heads.batch.size();
    // All are outputs: the hidden states come in the order of the outputs.
    const float * hidden = sequence.chain.data() + place * heads.width;
    add(heads, token, request.position + llama_pos(place), request.sequence, true, hidden);
  }
}

} // namespace

std::unique_ptr<own_heads> open_heads(llama_context * target, llama_context * context, uint32_t sequences) {
  const llama_model * model = llama_get_model(context);
  auto heads = std::make_unique<own_heads>();
  heads->target = target;
  heads->context = context;
  heads->width = size_t(llama_model_n_embd_out(model));
  heads->count = std::max(1, llama_model_n_layer_nextn(model));
  heads->capacity = int32_t(llama_n_batch(context));
  heads->batch = common_batch(context);
  heads->sequences.resize(sequences);
  for (head_sequence & sequence : heads->sequences) {
    sequence.sampler = sampler_for(*heads, 0.0f, 0);
  }
  llama_set_embeddings_nextn(target, true, /*masked*/ false);
  llama_set_embeddings_nextn(context, true, /*masked*/ true);
  return heads;
}

void draft_with_heads(li_drafter & drafter, const li_draft_request * requests, size_t count) {
  own_heads & heads = *drafter.heads;
  if (count * size_t(heads.count) > size_t(heads.capacity)) {
    return;
  }
  std::vector<const li_draft_request *> open;
  for (size_t i = 0; i < count; ++i) {
    head_sequence & sequence = heads.sequences[size_t(requests[i].sequence)];
    if (!sequence.hidden.empty() && sequence.position + 1 == requests[i].position) {
      tune(heads, sequence, requests[i].temperature, requests[i].seed);
      sequence.chain = sequence.hidden;
      open.push_back(&requests[i]);
    }
  }
  for (int32_t step = 0; !open.empty(); ++step) {
    heads.batch.clear();
    for (const li_draft_request * request : open) {
      extend(drafter, *request);
    }
    const bool evaluated = evaluate(heads, heads.count > 1 ? step : 0, [&](const head_sequence &, size_t id) {
      const auto own = [&](const li_draft_request * request) { return size_t(request->sequence) == id; };
      const auto found = std::find_if(open.begin(), open.end(), own);
      return found == open.end() ? llama_pos(-1) : (*found)->position;
    });
    if (!evaluated) {
      break;
    }
    for (const li_draft_request * request : open) {
      take(drafter, *request);
    }
    const int32_t longest = heads.count > 1 ? heads.count : INT32_MAX;
    const auto done = [&](const li_draft_request * request) {
      const int32_t length = int32_t(drafter.drafts[size_t(request->sequence)].size());
      return length >= std::min(request->most, longest);
    };
    open.erase(std::remove_if(open.begin(), open.end(), done), open.end());
  }
  if (heads.count > 1) {
    llama_set_nextn_layer_offset(heads.context, 0);
  }
}

} // namespace li

bool li_drafter_follow(li_drafter * drafter, llama_batch batch, li_error * error) {
  return li::guard<bool>(error, LI_FAILED, false, [&] {
    li::own_heads & heads = *drafter->heads;
    li::check(heads, batch);
    li::render(heads, batch);
    bool followed = true;
    for (int32_t head = 0; head < heads.count && followed; ++head) {
      followed = li::evaluate(heads, head, [](const li::head_sequence & sequence, size_t) {
        return sequence.rows > 0 ? sequence.first_position : llama_pos(-1);
      });
    }
    if (heads.count > 1) {
      llama_set_nextn_layer_offset(heads.context, 0);
    }
    for (li::head_sequence & sequence : heads.sequences) {
      if (sequence.rows > 0) {
        li::remember(heads, sequence, sequence.first + sequence.rows - 1);
      }
    }
    return followed;
  });
}

bool li_drafter_continue(li_drafter * drafter, llama_seq_id sequence, int32_t row, li_error * error) {
  return li::guard<bool>(error, LI_FAILED, false, [&] {
    if (sequence < 0 || uint32_t(sequence) >= drafter->sequences) {
      throw std::out_of_range("the sequence does not exist");
    }
    li::head_sequence & state = drafter->heads->sequences[size_t(sequence)];
    if (row < state.first || row >= state.first + state.rows) {
      return false;
    }
    li::remember(*drafter->heads, state, row);
    return true;
  });
}
