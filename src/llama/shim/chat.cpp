// Chat templates: OpenAI chat JSON in, rendered prompt and the facts a reader of the answer needs out.
#include "guard.h"

#include "chat.h"
#include "json.h"

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

struct li_chat {
  common_chat_templates_ptr templates;
};

namespace {

// Input object: messages (array), tools (array, optional), tool_choice (auto | none | required), add_generation_prompt,
// enable_thinking (booleans), template_kwargs (object of JSON texts, optional).
common_chat_templates_inputs to_inputs(const common_json & in) {
  common_chat_templates_inputs out;
  out.messages = common_chat_msgs_parse_oaicompat(in.at("messages"));
  if (out.messages.empty()) {
    throw std::invalid_argument("messages is empty: a conversation has at least one");
  }
  if (in.contains("tools")) {
    out.tools = common_chat_tools_parse_oaicompat(in.at("tools"));
    out.tool_choice = common_chat_tool_choice_parse_oaicompat(in.value("tool_choice", std::string("auto")));
    out.parallel_tool_calls = true;
  }
  out.add_generation_prompt = in.value("add_generation_prompt", true);
  out.enable_thinking = in.value("enable_thinking", true);
  out.reasoning_format = COMMON_REASONING_FORMAT_AUTO;
  if (in.contains("template_kwargs")) {
    if (!in.at("template_kwargs").is_object()) {
      throw std::invalid_argument("template_kwargs is not an object");
    }
    for (const auto & item : in.at("template_kwargs").items()) {
      out.chat_template_kwargs[item.key()] = item.value().dump();
    }
  }
  return out;
}

common_json to_json(const common_chat_params & params) {
  common_json out;
  out["prompt"] = params.prompt;
  out["format"] = std::string(common_chat_format_name(params.format));
  out["generation_prompt"] = params.generation_prompt;
  out["supports_thinking"] = params.supports_thinking;
  out["thinking_start"] = params.thinking_start_tag;
  out["thinking_ends"] = params.thinking_end_tags;
  out["stops"] = params.additional_stops;
  out["preserved_tokens"] = params.preserved_tokens;
  out["grammar"] = params.grammar;
  out["grammar_lazy"] = params.grammar_lazy;
  out["format_number"] = int(params.format);
  out["parser"] = params.parser;
  common_json words = common_json::array();
  common_json patterns = common_json::array();
  for (const common_grammar_trigger & trigger : params.grammar_triggers) {
    const bool word = trigger.type == COMMON_GRAMMAR_TRIGGER_TYPE_WORD || trigger.type == COMMON_GRAMMAR_TRIGGER_TYPE_TOKEN;
    (word ? words : patterns).push_back(trigger.value);
  }
  out["trigger_words"] = words;
  out["trigger_patterns"] = patterns;
  return out;
}

char * copy(const std::string & text) {
  char * result = static_cast<char *>(std::malloc(text.size() + 1));
  if (result == nullptr) {
    throw std::bad_alloc();
  }
  std::memcpy(result, text.c_str(), text.size() + 1);
  return result;
}

common_chat_templates_ptr parse(const llama_model * model, const char * source) {
  try {
    return common_chat_templates_init(model, source);
  } catch (const std::exception &) {
    // What arrives here is a sliced copy that only says "std::exception": parsing once more throws the reason.
    common_chat_template reason(source, "", "");
    throw;
  }
}

// A template that fails while it renders is reported as a failure of llama.cpp's analysis of the answer's format.
std::string render_error(const std::string & message) {
  const std::string analysis = "Automatic parser generation failed: ";
  const size_t start = message.find(analysis);
  return start == std::string::npos ? message : message.substr(start + analysis.size());
}

common_chat_params apply(const li_chat * chat, const common_chat_templates_inputs & inputs) {
  try {
    return common_chat_templates_apply(chat->templates.get(), inputs);
  } catch (const std::invalid_argument & exception) {
    throw std::runtime_error(render_error(exception.what()));
  }
}

} // namespace

li_chat * li_chat_new(const llama_model * model, const char * source, li_error * error) {
  return li::guard<li_chat *>(error, LI_BAD_TEMPLATE, nullptr, [&] { return new li_chat{parse(model, source)}; });
}

void li_chat_free(li_chat * chat) {
  delete chat;
}

char * li_chat_render(const li_chat * chat, const char * input_json, li_error * error) {
  return li::guard<char *>(error, LI_BAD_TEMPLATE, nullptr, [&]() -> char * {
    common_chat_templates_inputs inputs;
    try {
      inputs = to_inputs(common_json::parse(input_json));
    } catch (const std::exception & exception) {
      li::report(error, LI_BAD_INPUT, exception.what());
      return nullptr;
    }
    return copy(to_json(apply(chat, inputs)).dump());
  });
}

void li_string_free(char * text) {
  std::free(text);
}
