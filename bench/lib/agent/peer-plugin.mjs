// The same agent's text by node-llama-cpp: one context, one sequence for each kind of prompt, which keeps what two prompts
// have in common, and a grammar for the answer that each kind of prompt asks for.
const reply = String.raw`root ::= "<response>\n    <thought>" [^<]{1,300} "</thought>\n    <actions>REPLY</actions>\n    <providers></providers>\n    <text>" [^<]{1,600} "</text>\n</response>"`;
const decision = String.raw`root ::= "<response>\n  <name>Ada</name>\n  <reasoning>" [^<]{1,300} "</reasoning>\n  <action>" ("RESPOND" | "IGNORE" | "STOP") "</action>\n</response>"`;

/** @param onCall Called with the tokens of each call. */
export async function peerPlugin({ model: modelPath, threads, contextSize, onCall }) {
  const { getLlama, LlamaChatSession } = await import("node-llama-cpp");
  const llama = await getLlama({
    gpu: false,
    build: "never",
    skipDownload: true,
    maxThreads: threads,
    logLevel: "error",
  });
  const model = await llama.loadModel({ modelPath, gpuLayers: 0 });
  const context = await model.createContext({ contextSize, sequences: 3, threads, flashAttention: "auto" });
  const grammars = {
    reply: await llama.createGrammar({ grammar: reply }),
    decision: await llama.createGrammar({ grammar: decision }),
  };
  const sessions = new Map();
  const sessionFor = (kind) => {
    if (!sessions.has(kind)) {
      const contextSequence = context.getSequence();
      sessions.set(kind, { sequence: contextSequence, session: new LlamaChatSession({ contextSequence }) });
    }
    return sessions.get(kind);
  };
  const text =
    (type) =>
    async (runtime, { prompt, maxTokens, temperature = 0 }) => {
      const kind = prompt.includes("<action>RESPOND")
        ? "decision"
        : prompt.includes("<actions>")
          ? "reply"
          : "other";
      const { sequence, session } = sessionFor(kind);
      const system = runtime.character.system;
      session.setChatHistory([{ type: "system", text: system }]);
      const before = sequence.tokenMeter.getState();
      const start = performance.now();
      let firstMs;
      const answer = await session.prompt(prompt, {
        maxTokens,
        temperature,
        grammar: grammars[kind],
        repeatPenalty: false,
        onToken: () => {
          firstMs ??= performance.now() - start;
        },
      });
      const used = sequence.tokenMeter.diff(before);
      onCall({
        type,
        kind,
        promptTokens: model.tokenize(prompt).length,
        evaluatedTokens: used.usedInputTokens,
        completionTokens: used.usedOutputTokens,
        firstMs,
        ms: performance.now() - start,
      });
      return answer;
    };
  const plugin = {
    name: "peer",
    description: "Text by node-llama-cpp.",
    priority: 100,
    models: { TEXT_SMALL: text("TEXT_SMALL"), TEXT_LARGE: text("TEXT_LARGE") },
  };
  return { plugin, close: () => llama.dispose() };
}
