// Tokens and text.
#include "guard.h"

int32_t li_tokenize(const llama_vocab * vocab, const char * text, size_t length, llama_token * out, int32_t capacity,
                    bool add_special, bool parse_special, li_error * error) {
  return li::guard<int32_t>(error, LI_BAD_INPUT, INT32_MIN, [&] {
    return llama_tokenize(vocab, text, int32_t(length), out, capacity, add_special, parse_special);
  });
}

int32_t li_detokenize(const llama_vocab * vocab, const llama_token * tokens, int32_t count, char * out, int32_t capacity,
                      bool unparse_special, li_error * error) {
  return li::guard<int32_t>(error, LI_BAD_INPUT, INT32_MIN, [&] {
    return llama_detokenize(vocab, tokens, count, out, capacity, false, unparse_special);
  });
}

int32_t li_piece(const llama_vocab * vocab, llama_token token, char * out, int32_t capacity, bool special, li_error * error) {
  return li::guard<int32_t>(error, LI_BAD_INPUT, INT32_MIN,
                            [&] { return llama_token_to_piece(vocab, token, out, capacity, 0, special); });
}
