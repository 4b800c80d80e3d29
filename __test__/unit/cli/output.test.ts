import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { duration, homeShortened, size, table } from "../../../ts/cli/support/output.js";

describe("the text of numbers", () => {
  it.each([
    [0, "0 B"],
    [999, "999 B"],
    [1000, "1.0 kB"],
    [999_949, "1.0 MB"],
    [4_967_494_592, "5.0 GB"],
    [123_456_789_012, "123 GB"],
  ])("%i bytes are %s", (bytes, text) => expect(size(bytes)).toBe(text));

  it.each([
    [0, "0 s"],
    [59.4, "59 s"],
    [61, "1 min 01 s"],
    [3725, "1 h 02 min"],
  ])("%d seconds are %s", (seconds, text) => expect(duration(seconds)).toBe(text));

  it("paths below the home folder are short and say nothing of their owner", () => {
    const home = join("/", "home", "ada");
    expect(homeShortened(`${home}/models/a.gguf, ${home}/b`, home)).toBe("~/models/a.gguf, ~/b");
    expect(homeShortened("/home/adam/a.gguf", home)).toBe("/home/adam/a.gguf");
  });

  it("columns line up", () => {
    expect(
      table(
        ["A", "B"],
        [
          ["long", "x"],
          ["s", ""],
        ],
      ),
    ).toBe("A     B\nlong  x\ns");
  });
});
