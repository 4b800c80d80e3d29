# Included by CMake right after llama.cpp's project() call (CMAKE_PROJECT_INCLUDE).

# The video helper of mtmd spawns ffmpeg; an addon must not start programs of its own.
set(MTMD_VIDEO OFF CACHE BOOL "" FORCE)

# Found by chance on some build machines: an OpenSSL that the downloader of llama.cpp's `common` would link. The addon
# never downloads through it.
set(LLAMA_OPENSSL OFF CACHE BOOL "" FORCE)

if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  # gcc < 14 gives _tile_loadconfig an 8-byte operand and drops the stores of the other 56 bytes: SIGILL on AMX.
  add_compile_options("SHELL:-include ${CMAKE_CURRENT_LIST_DIR}/amx_tile_config.h")
endif()

if(NOT MSVC)
  # Assertions name their source file; a package must not carry the folders of the machine that built it.
  add_compile_options("-ffile-prefix-map=${CMAKE_SOURCE_DIR}=llama.cpp")
endif()

if(UNIX AND NOT APPLE)
  # Only a library that calls OpenMP may need it: the runtime reads its spin setting when it is loaded, and that
  # must happen with the ggml-cpu module, after the addon has chosen the setting.
  add_link_options("LINKER:--as-needed")
endif()
