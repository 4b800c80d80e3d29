// Evaluation of a batch.
#include "guard.h"

int32_t li_decode(llama_context * context, llama_batch batch, li_error * error) {
  return li::guard<int32_t>(error, LI_FAILED, LI_DECODE_THREW, [&] { return llama_decode(context, batch); });
}
