import { describe, expect, it } from "vitest";
import { checkRequest } from "../../../../ts/engine/text/check-request.js";
import type { GenerateRequest } from "../../../../ts/engine/text/types.js";

const check = (request: unknown) => checkRequest(request as GenerateRequest);

describe("a request", () => {
  it.each([
    { prompt: "" },
    { prompt: "a", stop: ["x"], maxTokens: 5 },
    { messages: [{ role: "user", content: "a" }], tools: [{}], toolChoice: "none", enableThinking: false },
    { messages: [{ role: "user", content: null }], templateVariables: { date: "today" } },
  ])("in the right form passes: %j", (request) => {
    expect(() => check(request)).not.toThrow();
  });

  it.each<[unknown, string]>([
    [undefined, "object"],
    ["prompt", "object"],
    [{}, "either messages or a prompt"],
    [{ prompt: "a", messages: [{}] }, "either messages or a prompt"],
    [{ messages: [] }, "at least one message"],
    [{ messages: "a" }, "messages"],
    [{ messages: [5] }, "messages.0"],
    [{ prompt: 5 }, "prompt"],
    [{ prompt: "a", stop: "x" }, "stop"],
    [{ prompt: "a", stop: [1] }, "stop.0"],
    [{ prompt: "a", toolChoice: "maybe" }, "toolChoice"],
    [{ prompt: "a", grammar: 5 }, "grammar"],
    [{ prompt: "a", constraint: "root" }, "constraint"],
    [{ prompt: "a", parseSpecial: "yes" }, "parseSpecial"],
  ])("in another form is refused and the place named: %j", (request, part) => {
    expect(() => check(request)).toThrow(part);
    expect(() => check(request)).toThrow(expect.objectContaining({ code: "INVALID_INPUT" }));
  });
});
