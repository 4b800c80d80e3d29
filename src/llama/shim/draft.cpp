// Drafting. What llama.cpp asserts on (ranges, empty results, calls out of order) is checked here or by the caller.
#include "drafter.h"
#include "guard.h"

#include "../src/llama-ext.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace {

// The draft of an assistant always has the length that its state was made for, whatever a call asks for, so there is one for each
// length up to 4 and some beyond; a draft that comes out longer than asked is cut.
constexpr int32_t lengths_of_assistants[] = {1, 2, 3, 4, 6, 8, 12, 16};

void add_state(li_drafter & drafter, llama_context * target, llama_context * draft, int32_t most) {
  common_params_speculative params;
  params.types = {drafter.kind == LI_DRAFT_ASSISTANT ? COMMON_SPECULATIVE_TYPE_DRAFT_MTP : COMMON_SPECULATIVE_TYPE_DRAFT_SIMPLE};
  params.draft.ctx_tgt = target;
  params.draft.ctx_dft = draft;
  params.draft.n_max = most;
  params.draft.n_min = 0;
  params.draft.p_min = 0.0f;
  // The chain of a sequence can be attached to one state only.
  params.draft.backend_sampling = false;
  // Whether a draft is drawn is decided by each request.
  params.draft.probabilistic = true;
  common_speculative_ptr speculative(common_speculative_init(params, drafter.sequences));
  if (!speculative) {
    throw std::runtime_error("no kind of speculation could be started");
  }
  for (uint32_t sequence = 0; sequence < drafter.sequences; ++sequence) {
    common_speculative_begin(speculative.get(), llama_seq_id(sequence), {});
  }
  drafter.states.push_back({most, std::move(speculative)});
}

// The state with the shortest drafts that are long enough.
li::draft_state & fitting(li_drafter & drafter, int32_t most) {
  for (li::draft_state & candidate : drafter.states) {
    if (candidate.most >= most) {
      return candidate;
    }
  }
  return drafter.states.back();
}

bool valid(const li_drafter & drafter, const li_draft_request & request) {
  return request.sequence >= 0 && uint32_t(request.sequence) < drafter.sequences && request.last >= 0 &&
         request.last < drafter.vocabulary && request.position >= 0 && request.most > 0;
}

// Asks `common_speculative` for the drafts.
void ask(li_drafter & drafter, const li_draft_request * requests, size_t count, int32_t most) {
  common_speculative * speculative = fitting(drafter, most).speculative.get();
  for (uint32_t sequence = 0; sequence < drafter.sequences; ++sequence) {
    // Also after a draft that an exception ended.
    common_speculative_get_draft_params(speculative, llama_seq_id(sequence)).drafting = false;
  }
  for (size_t i = 0; i < count; ++i) {
    const li_draft_request & request = requests[i];
    common_speculative_draft_params & params = common_speculative_get_draft_params(speculative, request.sequence);
    params.drafting = true;
    params.n_max = request.most;
    params.pos0 = request.position;
    params.id_last = request.last;
    params.prompt = &drafter.no_prompt;
    params.result = &drafter.drafts[size_t(request.sequence)];
    params.result_q = request.temperature > 0.0f ? &drafter.probabilities[size_t(request.sequence)] : nullptr;
    params.temp = request.temperature;
    params.seed = request.seed;
  }
  common_speculative_draft(speculative);
}

} // namespace

void li_vocabulary_difference(const llama_model * target, const llama_model * draft, int32_t first, char * out, size_t capacity,
                              li_error * error) {
  li::guard<int>(error, LI_FAILED, 0, [&] {
    out[0] = '\0';
    const llama_vocab * ours = llama_model_get_vocab(target);
    const llama_vocab * theirs = llama_model_get_vocab(draft);
    const int32_t count = std::min(llama_vocab_n_tokens(ours), llama_vocab_n_tokens(theirs));
    for (llama_token token = first; token < count; ++token) {
      const char * text = llama_vocab_get_text(ours, token);
      const char * other = llama_vocab_get_text(theirs, token);
      if (std::strcmp(text, other) != 0) {
        std::snprintf(out, capacity, "token %d is \"%s\" in the drafter, \"%s\" in the model", token, other, text);
        break;
      }
    }
    return 0;
  });
}

li_drafter * li_drafter_new(int32_t kind, llama_context * target, llama_context * draft, uint32_t sequences, int32_t most,
                            li_error * error) {
  return li::guard<li_drafter *>(error, LI_FAILED, nullptr, [&]() -> li_drafter * {
    auto drafter = std::make_unique<li_drafter>();
    drafter->kind = kind;
    drafter->sequences = sequences;
    drafter->vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(llama_get_model(draft)));
    drafter->target_vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(llama_get_model(target)));
    drafter->drafts.resize(sequences);
    drafter->probabilities.resize(sequences);
    if (kind == LI_DRAFT_HEADS) {
      drafter->heads = li::open_heads(target, draft, sequences);
      return drafter.release();
    }
    if (kind == LI_DRAFT_ASSISTANT) {
      if (llama_get_ctx_other(draft) != target) {
        throw std::runtime_error("the drafter does not share the model's KV cache");
      }
      for (const int32_t length : lengths_of_assistants) {
        if (length < most) {
          add_state(*drafter, target, draft, length);
        }
      }
    }
    add_state(*drafter, target, draft, most);
    if (kind == LI_DRAFT_ASSISTANT) {
      // Only rows with logits are ever continued from: without this a prefill computes and copies every row.
      llama_set_embeddings_nextn(target, true, /*masked*/ true);
    }
    return drafter.release();
  });
}

const std::vector<llama_token_data> * li_drafted_from(const li_drafter * drafter, llama_seq_id sequence, size_t place) {
  if (sequence < 0 || uint32_t(sequence) >= drafter->sequences) {
    return nullptr;
  }
  const li::distributions & drawn = drafter->probabilities[size_t(sequence)];
  return place < drawn.size() ? &drawn[place] : nullptr;
}

void li_drafter_free(li_drafter * drafter) {
  delete drafter;
}

void li_drafter_begin(li_drafter * drafter, llama_seq_id sequence, li_error * error) {
  li::guard<int>(error, LI_FAILED, 0, [&] {
    for (li::draft_state & each : drafter->states) {
      common_speculative_begin(each.speculative.get(), sequence, {});
    }
    if (drafter->heads && sequence >= 0 && uint32_t(sequence) < drafter->sequences) {
      common_sampler_reset(drafter->heads->sequences[size_t(sequence)].sampler.get());
    }
    return 0;
  });
}

int32_t li_draft_feed(llama_context * draft, llama_seq_id sequence, const llama_token * tokens, int32_t count,
                      llama_pos position, li_error * error) {
  return li::guard<int32_t>(error, LI_FAILED, LI_DECODE_THREW, [&] {
    std::vector<llama_token> ids(tokens, tokens + count);
    std::vector<llama_pos> positions(ids.size());
    std::vector<int32_t> counts(ids.size(), 1);
    std::vector<llama_seq_id *> sequences(ids.size(), &sequence);
    std::vector<int8_t> logits(ids.size(), 0);
    for (size_t i = 0; i < ids.size(); ++i) {
      positions[i] = position + llama_pos(i);
    }
    llama_batch batch = {count, ids.data(), nullptr, positions.data(), counts.data(), sequences.data(), logits.data()};
    return llama_decode(draft, batch);
  });
}

void li_drafter_observe(li_drafter * drafter, const llama_seq_id * sequences, const int32_t * rows, size_t count,
                        li_error * error) {
  li::guard<int>(error, LI_FAILED, 0, [&] {
    // llama.cpp takes the hidden state of the last row of each sequence that it finds in a batch. The batch it is shown
    // here has the rows to continue from, and others that belong to no sequence.
    common_batch batch;
    for (size_t i = 0; i < count; ++i) {
      if (rows[i] < 0 || sequences[i] < 0 || uint32_t(sequences[i]) >= drafter->sequences) {
        throw std::out_of_range("a row or sequence does not exist");
      }
      if (batch.tokens.size() <= size_t(rows[i])) {
        common_batch::token filler{};
        filler.seq_id = -1;
        batch.tokens.resize(size_t(rows[i]) + 1, filler);
      }
      batch.tokens[size_t(rows[i])].seq_id = sequences[i];
    }
    for (li::draft_state & each : drafter->states) {
      if (!common_speculative_process(each.speculative.get(), batch)) {
        throw std::runtime_error("the hidden states could not be taken over");
      }
    }
    return 0;
  });
}

void li_drafter_draft(li_drafter * drafter, const li_draft_request * requests, size_t count, llama_token * out, size_t stride,
                      int32_t * lengths, li_error * error) {
  li::guard<int>(error, LI_FAILED, 0, [&] {
    std::fill(lengths, lengths + count, 0);
    int32_t most = 0;
    for (size_t i = 0; i < count; ++i) {
      if (!valid(*drafter, requests[i])) {
        throw std::out_of_range("a draft was asked for with a token, position or sequence that does not exist");
      }
      most = std::max(most, requests[i].most);
    }
    for (size_t i = 0; i < count; ++i) {
      drafter->drafts[size_t(requests[i].sequence)].clear();
      drafter->probabilities[size_t(requests[i].sequence)].clear();
    }
    if (drafter->heads) {
      li::draft_with_heads(*drafter, requests, count);
    } else {
      ask(*drafter, requests, count, most);
    }
    for (size_t i = 0; i < count; ++i) {
      const llama_tokens & draft = drafter->drafts[size_t(requests[i].sequence)];
      const size_t wanted = std::min({draft.size(), stride, size_t(requests[i].most)});
      for (size_t k = 0; k < wanted && draft[k] < drafter->target_vocabulary; ++k) {
        out[i * stride + k] = draft[k];
        lengths[i] = int32_t(k) + 1;
      }
    }
    return 0;
  });
}
