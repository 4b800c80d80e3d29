// Turns C++ exceptions into li_error.
#pragma once

#include "shim.h"

#include <cstdio>
#include <exception>
#include <new>

namespace li {

inline void report(li_error * error, li_status status, const char * message) {
  if (error == nullptr) {
    return;
  }
  error->status = status;
  std::snprintf(error->message, sizeof(error->message), "%s", message);
}

// Runs `body`; on an exception reports it with `status` and returns `failed`.
template <typename T, typename Body> T guard(li_error * error, li_status status, T failed, Body && body) noexcept {
  if (error != nullptr) {
    *error = {LI_OK, {0}};
  }
  try {
    return body();
  } catch (const std::bad_alloc &) {
    report(error, LI_OUT_OF_MEMORY, "the allocation failed");
  } catch (const std::exception & exception) {
    report(error, status, exception.what());
  } catch (...) {
    report(error, status, "unknown C++ exception");
  }
  return failed;
}

} // namespace li
