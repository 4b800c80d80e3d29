// Loading of weights and creation of contexts.
#include "guard.h"

#include "fit.h"
#include "log.h"

#include <vector>

void li_quiet() {
  common_log_set_verbosity_thold(LOG_LEVEL_OUTPUT - 1);
}

llama_model * li_model_load(const char * path, llama_model_params params, li_error * error) {
  return li::guard<llama_model *>(error, LI_FAILED, nullptr, [&] { return llama_model_load_from_file(path, params); });
}

llama_context * li_context_new(llama_model * model, llama_context_params params, li_error * error) {
  return li::guard<llama_context *>(error, LI_FAILED, nullptr, [&] { return llama_init_from_model(model, params); });
}

int32_t li_fit_params(const char * path, llama_model_params * model_params, llama_context_params * context_params,
                      uint32_t minimum_context, li_error * error) {
  return li::guard<int32_t>(error, LI_FAILED, COMMON_PARAMS_FIT_STATUS_ERROR, [&] {
    // common_fit_params writes tensor splits and overrides through pointers that must outlive the load.
    static thread_local std::vector<float> split;
    static thread_local std::vector<llama_model_tensor_buft_override> overrides;
    split.assign(llama_max_devices(), 0.0f);
    overrides.assign(llama_max_tensor_buft_overrides(), {nullptr, nullptr});
    std::vector<size_t> margins(llama_max_devices(), size_t(1) << 30);
    return int32_t(common_fit_params(path, model_params, context_params, split.data(), overrides.data(), margins.data(),
                                     minimum_context, nullptr, GGML_LOG_LEVEL_ERROR));
  });
}
