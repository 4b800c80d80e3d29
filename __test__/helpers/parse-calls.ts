// A format of tool calls for scripted models.

/** `text<call>name(arguments)`, as far as it has come. */
export function parseCalls(text: string) {
  const [content = "", ...calls] = text.split("<call>");
  const read = calls.map((call) => {
    const [name = "", args = ""] = call.split("(");
    return { id: "", name, arguments: args.replace(")", "") };
  });
  return { content, reasoning: "", calls: read };
}
