import { describe, expect, it } from "vitest";
import {
  chatGeneration,
  chatInput,
  promptGeneration,
  SAMPLING_KEYS,
  samplingOf,
} from "../../../../ts/engine/text/request.js";
import type { GenerateRequest, Sampling } from "../../../../ts/engine/text/types.js";
import type { RenderedChat } from "../../../../ts/native/addon.js";

const FACTS = {
  prompt: "<user>Hi",
  format: "fake",
  usedFallback: false,
  supportsThinking: false,
  constrainsCalls: false,
  read: (content: string) => ({ content, reasoning: "", calls: [] }),
};
const RENDERED: RenderedChat = FACTS;
const CALLING: RenderedChat = { ...FACTS, constrainsCalls: true };
const MESSAGES = [{ role: "user", content: "Hi" }] as const;
const TOOL = { type: "function", function: { name: "look" } } as const;

describe("sampling options", () => {
  /** Every one of them, by the type; zeros and false are values like others. */
  const all: Required<Sampling> = {
    maxTokens: 5,
    minTokens: 1,
    temperature: 0,
    topP: 0.9,
    topK: 0,
    minP: 0.05,
    typicalP: 1,
    repetitionPenalty: 1.1,
    frequencyPenalty: 0,
    presencePenalty: 0.5,
    penaltyWindow: 64,
    seed: 0,
    dryMultiplier: 0.8,
    dryBase: 1.75,
    dryAllowedLength: 2,
    dryWindow: 0,
    drySequenceBreakers: [],
    xtcProbability: 0.1,
    xtcThreshold: 0.2,
    mirostat: 2,
    mirostatTau: 5,
    mirostatEta: 0.1,
    logitBias: [{ token: 1, bias: -1 }],
    logprobs: 3,
    grammar: 'root ::= "a"',
    ignoreEos: false,
    speculative: "off",
  };

  it.each(SAMPLING_KEYS)("%s reaches the addon", (key) => {
    const request = { [key]: all[key] };
    expect(promptGeneration({ ...request, prompt: "x" })).toEqual({
      ...request,
      prompt: "x",
      parseSpecial: false,
      stops: [],
    });
    expect(chatGeneration({ ...request, messages: MESSAGES }, RENDERED)).toMatchObject(request);
  });

  it("all reach the addon together", () => {
    expect(Object.keys(all).sort()).toEqual([...SAMPLING_KEYS].sort());
    expect(promptGeneration({ ...all, prompt: "x" })).toMatchObject(all);
  });

  it("what is not set is not sent, so that the engine's default applies", () => {
    expect(samplingOf({ temperature: undefined, topP: null, seed: 3 })).toEqual({ seed: 3 });
  });

  it("what is not a sampling option is not sent", () => {
    expect(samplingOf({ user: "x", stream: true, temperature: 1 } as object)).toEqual({ temperature: 1 });
  });
});

describe("a chat", () => {
  it("is rendered by the template, whose rules go with it to the addon", () => {
    const request: GenerateRequest = { messages: MESSAGES, stop: ["\n"] };
    expect(chatInput(request)).toEqual({
      messagesJson: '[{"role":"user","content":"Hi"}]',
      addGenerationPrompt: true,
    });
    expect(chatGeneration(request, RENDERED)).toEqual({
      chat: RENDERED,
      stops: ["\n"],
    });
  });

  it("hands tools to the template, and their choice only with them", () => {
    expect(chatInput({ messages: MESSAGES, tools: [TOOL], toolChoice: "auto" })).toMatchObject({
      toolsJson: JSON.stringify([TOOL]),
      toolChoice: "auto",
    });
    expect(chatInput({ messages: MESSAGES, tools: [], toolChoice: "required" })).not.toHaveProperty(
      "toolChoice",
    );
  });

  it("calls follow the template's own form where it has one", () => {
    const request: GenerateRequest = { messages: MESSAGES, tools: [TOOL], toolChoice: "required" };
    expect(chatGeneration(request, CALLING)).toEqual({
      chat: CALLING,
      stops: [],
    });
  });

  it("a template that knows no tools can still be made to call one", () => {
    const request: GenerateRequest = { messages: MESSAGES, tools: [TOOL], toolChoice: "required" };
    const { kind, source } = chatGeneration(request, RENDERED).constraint ?? {};
    expect(kind).toBe("schema");
    expect(JSON.parse(source ?? "")).toMatchObject({ properties: { name: { const: "look" } } });
    expect(chatGeneration({ ...request, toolChoice: "auto" }, RENDERED)).not.toHaveProperty("constraint");
    expect(chatGeneration({ ...request, toolChoice: "none" }, RENDERED)).not.toHaveProperty("constraint");
  });

  it("a prefill continues the prompt and belongs to what the constraint describes", () => {
    const constraint = { kind: "gbnf", source: 'root ::= "ab"' } as const;
    expect(chatGeneration({ messages: MESSAGES, prefill: "a", constraint }, RENDERED)).toMatchObject({
      chat: RENDERED,
      prefill: "a",
      constraint: { ...constraint, prefix: "a" },
    });
  });

  it("the caller's grammar wins over the template's", () => {
    const request: GenerateRequest = { messages: MESSAGES, tools: [TOOL], grammar: "root ::= mine" };
    const input = chatGeneration(request, RENDERED);
    expect(input.grammar).toBe("root ::= mine");
    expect(input).not.toHaveProperty("constraint");
  });
});
