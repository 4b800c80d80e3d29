import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { downloadFixture } from "../../helpers/download.js";
import { pseudoGguf, sha256 } from "../../helpers/hub-server.js";

const KB = 1024;
const fixture = downloadFixture();
const { content, target, fetchIt, expectComplete } = fixture;

describe("a server that does not keep its word", () => {
  it("sends the whole file in answer to a range: nothing is appended", async () => {
    fixture.hub.fault = (_, number) => (number === 0 ? { dropAfter: 50 * KB } : { ignoreRange: true });
    await fetchIt({ connections: 1 });
    expectComplete();
  });

  it("knows no ranges at all and breaks off twice", async () => {
    fixture.hub.fault = (_, number) => ({
      ignoreRange: true,
      ...(number < 3 ? { dropAfter: 100 * KB } : {}),
    });
    await fetchIt({ connections: 4 });
    expectComplete();
  });

  it("knows no ranges and always breaks off: the error says why it cannot work", async () => {
    fixture.hub.fault = () => ({ ignoreRange: true, dropAfter: 100 * KB });
    await expect(fetchIt()).rejects.toMatchObject({
      code: "DOWNLOAD_FAILED",
      message: expect.stringContaining("does not continue a download"),
    });
  });

  it("has another version of the file halfway: the old bytes are dropped", async () => {
    const other = pseudoGguf(content.length, 8);
    fixture.hub.put("own/repo", "m.gguf", other);
    fixture.hub.fault = (_, number) =>
      number === 2 ? void fixture.hub.put("own/repo", "m.gguf", content) : undefined;
    await fetchIt({ connections: 1 });
    expectComplete();
  });

  it("changes the tag with every answer: it ends, and does not run for ever", async () => {
    fixture.hub.fault = (_, number) => ({ etag: `"${number}"` });
    await expect(fetchIt()).rejects.toMatchObject({ code: "DOWNLOAD_FAILED" });
    expect(readdirSync(fixture.folder)).toEqual([]);
  });

  it("states another size than the hub's description", async () => {
    fixture.hub.fault = () => ({ lieAboutLength: 5 });
    await expect(fetchIt()).rejects.toMatchObject({
      code: "DOWNLOAD_FAILED",
      message: expect.stringContaining(`${content.length + 5} bytes instead of ${content.length}`),
    });
  });

  it("sends more bytes than asked for: they are not written", async () => {
    fixture.hub.fault = () => ({ surplus: 5 * KB });
    await fetchIt({ connections: 2 });
    expectComplete();
  });

  it("sends wrong bytes once: they are fetched again", async () => {
    fixture.hub.fault = (_, number) => (number === 1 ? { wrongBytes: true } : undefined);
    await fetchIt({ connections: 1 });
    expectComplete();
  });

  it("always sends wrong bytes: both hashes are named and nothing is kept", async () => {
    fixture.hub.fault = () => ({ wrongBytes: true });
    await expect(fetchIt()).rejects.toMatchObject({
      code: "CHECKSUM_MISMATCH",
      message: expect.stringContaining(sha256(content)),
    });
    expect(readdirSync(fixture.folder)).toEqual([]);
  });

  it("has a shorter file than what is already here", async () => {
    const short = pseudoGguf(90 * KB, 3);
    fixture.hub.fault = (_, number) => (number === 0 ? { dropAfter: 60 * KB } : { status: 416 });
    await expect(fetchIt({ connections: 1 })).rejects.toMatchObject({ code: "DOWNLOAD_FAILED" });
    fixture.hub.fault = () => undefined;
    fixture.hub.put("own/repo", "m.gguf", short);
    await fetchIt({}, { bytes: short.length, sha256: sha256(short) });
    expect(readFileSync(target()).equals(short)).toBe(true);
  });
});
