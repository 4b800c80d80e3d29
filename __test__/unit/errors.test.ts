import { describe, expect, it, vi } from "vitest";
import {
  abortError,
  ERROR_CODES,
  fromNative,
  invalidInput,
  LocalInferenceError,
  towardsEliza,
  UNAVAILABLE,
  unavailable,
} from "../../ts/errors.js";

describe("errors of the addon", () => {
  it.each(ERROR_CODES)("%s keeps its code and loses the prefix", (code) => {
    const cause = new Error(`${code}: something: happened\nsecond line`);
    const error = fromNative(cause);
    expect(error).toBeInstanceOf(LocalInferenceError);
    expect(error).toMatchObject({ code, message: "something: happened\nsecond line", cause });
  });

  it.each(["NOT_A_CODE: text", "plain text", "MODEL_NOT_FOUND without a colon"])(
    "%j is an internal error with its whole message",
    (message) => {
      expect(fromNative(new Error(message))).toMatchObject({ code: "INTERNAL", message });
    },
  );

  it.each(["InvalidArg", "StringExpected", "NumberExpected"])("an argument of the wrong type: %s", (code) => {
    const error = Object.assign(new Error("Failed to convert"), { code });
    expect(fromNative(error)).toMatchObject({ code: "INVALID_INPUT", reason: "invalid_input" });
  });

  it("what is already mapped stays the same object", () => {
    const error = invalidInput("no");
    expect(fromNative(error)).toBe(error);
  });

  it("an error of another copy of this package keeps its code", async () => {
    vi.resetModules();
    const copy = await import("../../ts/errors.js");
    const error = new copy.LocalInferenceError("OUT_OF_MEMORY", "no room");
    expect(error).not.toBeInstanceOf(LocalInferenceError);
    expect(fromNative(error)).toBe(error);
  });

  it("something thrown that is not an error becomes one", () => {
    expect(fromNative("CLOSED: gone")).toMatchObject({ code: "CLOSED", message: "gone" });
  });
});

describe("errors towards elizaOS", () => {
  it.each([
    ["MODEL_NOT_FOUND", "backend_unavailable"],
    ["MODEL_INVALID", "backend_unavailable"],
    ["BACKEND_UNAVAILABLE", "backend_unavailable"],
    ["OUT_OF_MEMORY", "backend_unavailable"],
    ["MODEL_UNSUPPORTED", "capability_unavailable"],
    ["UNSUPPORTED", "capability_unavailable"],
  ] as const)("%s lets a router fall through as %s", (code, reason) => {
    const cause = new LocalInferenceError(code, "It is missing.", { hint: "Fetch it." });
    expect(towardsEliza(cause)).toMatchObject({
      code: UNAVAILABLE,
      reason,
      message: "It is missing. Fetch it.",
      hint: "Fetch it.",
      cause,
    });
  });

  it.each(["INVALID_INPUT", "GRAMMAR_INVALID", "TEMPLATE_INVALID", "CONTEXT_OVERFLOW"] as const)(
    "%s keeps its code and is the caller's fault",
    (code) => {
      expect(towardsEliza(new LocalInferenceError(code, "bad"))).toMatchObject({
        code,
        reason: "invalid_input",
      });
    },
  );

  it.each(["CANCELLED", "CLOSED", "DECODE_FAILED", "INTERNAL"] as const)("%s passes unchanged", (code) => {
    const error = new LocalInferenceError(code, "as it is");
    expect(towardsEliza(error)).toBe(error);
    expect(error.reason).toBeUndefined();
  });

  it("an unavailable error is not wrapped twice", () => {
    const error = unavailable("capability_unavailable", "No.");
    expect(towardsEliza(error)).toBe(error);
  });
});

describe("an aborted call", () => {
  it("rejects with an AbortError that carries the signal's reason", () => {
    const controller = new AbortController();
    controller.abort("enough");
    expect(abortError(controller.signal)).toMatchObject({
      name: "AbortError",
      code: "CANCELLED",
      cause: "enough",
    });
  });

  it("passes on the error of whoever fired the signal inside the package", () => {
    const controller = new AbortController();
    const reason = new LocalInferenceError("CLOSED", "The engine is closed.");
    controller.abort(reason);
    expect(abortError(controller.signal)).toBe(reason);
  });
});

it("the hint is part of the message, because logs show only that", () => {
  expect(new LocalInferenceError("INTERNAL", "Broken.", { hint: "Repair it." }).message).toBe(
    "Broken. Repair it.",
  );
});
