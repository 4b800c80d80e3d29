// Force-included when gcc compiles llama.cpp. See project.cmake for the reason.
#if defined(__AMX_TILE__) && defined(__GNUC__) && !defined(__clang__)
#include <immintrin.h>

static inline __attribute__((always_inline)) void tile_loadconfig_64_bytes(const void * config) {
  // The operand covers the whole 64-byte palette, so that every store into it happens before the load.
  __asm__ volatile("ldtilecfg\t%0" : : "m"(*(const char(*)[64]) config) : "memory");
}
#undef _tile_loadconfig
#define _tile_loadconfig(config) tile_loadconfig_64_bytes(config)
#endif
