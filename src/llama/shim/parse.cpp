// Reading an answer in the format of its template: content, reasoning and tool calls, also while it is incomplete.
#include "guard.h"

#include "chat.h"
#include "json.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

struct li_chat_parser {
  common_chat_parser_params params;
};

namespace {

common_json to_json(const common_chat_msg & message) {
  common_json out;
  out["content"] = message.content;
  out["reasoning"] = message.reasoning_content;
  common_json calls = common_json::array();
  for (const common_chat_tool_call & call : message.tool_calls) {
    common_json one;
    one["id"] = call.id;
    one["name"] = call.name;
    one["arguments"] = call.arguments;
    calls.push_back(one);
  }
  out["calls"] = calls;
  return out;
}

} // namespace

li_chat_parser * li_chat_parser_new(int32_t format, const char * generation_prompt, const char * parser, li_error * error) {
  return li::guard<li_chat_parser *>(error, LI_BAD_INPUT, nullptr, [&] {
    auto result = std::make_unique<li_chat_parser>();
    result->params.format = common_chat_format(format);
    result->params.reasoning_format = COMMON_REASONING_FORMAT_AUTO;
    result->params.generation_prompt = generation_prompt;
    if (*parser != '\0') {
      result->params.parser.load(parser);
    }
    return result.release();
  });
}

void li_chat_parser_free(li_chat_parser * parser) {
  delete parser;
}

char * li_chat_parser_parse(const li_chat_parser * parser, const char * text, bool partial, li_error * error) {
  return li::guard<char *>(error, LI_FAILED, nullptr, [&]() -> char * {
    const std::string json = to_json(common_chat_parse(text, partial, parser->params)).dump();
    char * result = static_cast<char *>(std::malloc(json.size() + 1));
    if (result == nullptr) {
      throw std::bad_alloc();
    }
    std::memcpy(result, json.c_str(), json.size() + 1);
    return result;
  });
}
