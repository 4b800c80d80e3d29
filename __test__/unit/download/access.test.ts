import { readdirSync } from "node:fs";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { downloadFixture } from "../../helpers/download.js";
import { COMMIT, startHub } from "../../helpers/hub-server.js";

const fixture = downloadFixture();
const { content, fetchIt, expectComplete } = fixture;

describe("secrets", () => {
  const token = "hf_verysecrettoken123";

  it("the token goes to the hub and not to where it redirects", async () => {
    const elsewhere = await startHub();
    elsewhere.put("own/repo", "m.gguf", content);
    const path = `/own/repo/resolve/${COMMIT}/m.gguf?Signature=abc`;
    fixture.hub.fault = () => ({ redirect: `http://localhost:${elsewhere.port}${path}` });
    await fetchIt({ connections: 2 }, { http: { token } });
    expectComplete();
    expect(fixture.hub.fetched().every(({ authorization }) => authorization === `Bearer ${token}`)).toBe(
      true,
    );
    expect(elsewhere.requests.length).toBeGreaterThan(0);
    expect(elsewhere.requests.every(({ authorization }) => authorization === undefined)).toBe(true);
    await elsewhere.close();
  });

  it("a signed address that expires is asked for again", async () => {
    const elsewhere = await startHub();
    elsewhere.put("own/repo", "m.gguf", content);
    elsewhere.fault = (_, number) => (number === 2 ? { status: 403 } : undefined);
    fixture.hub.fault = () => ({
      redirect: `${elsewhere.url}/own/repo/resolve/${COMMIT}/m.gguf?Signature=abc`,
    });
    await fetchIt({ connections: 1 });
    expectComplete();
    expect(fixture.hub.fetched()).toHaveLength(2);
    await elsewhere.close();
  });

  it("are in no error, whatever fails", async () => {
    const failures: (() => Promise<unknown>)[] = [
      async () => {
        fixture.hub.fault = () => ({
          redirect: "http://127.0.0.1:1/file?Signature=topsecret&token=hf_verysecrettoken123",
        });
        return fetchIt({}, { http: { token } });
      },
      async () => {
        fixture.hub.fault = () => ({ status: 403 });
        return fetchIt({}, { http: { token } });
      },
      () =>
        fetchIt({}, { http: { token, environment: { HTTP_PROXY: "http://user:topsecret@127.0.0.1:1" } } }),
      async () => {
        fixture.hub.fault = () => ({ redirect: "ftp://user:topsecret@example.org/x" });
        return fetchIt({}, { http: { token } });
      },
    ];
    for (const fail of failures) {
      const error = await fail().then(
        () => undefined,
        (reason: Error) => reason,
      );
      expect(error).toBeInstanceOf(Error);
      expect(inspect(error, { depth: 9 })).not.toMatch(/topsecret|verysecret/);
    }
  });

  it("a redirect without end is an error", async () => {
    fixture.hub.fault = ({ path }) => ({ redirect: `${fixture.hub.url}${path}` });
    await expect(fetchIt()).rejects.toMatchObject({
      code: "DOWNLOAD_FAILED",
      message: expect.stringContaining("more than 5 times"),
    });
  });
});

describe("being offline", () => {
  it("sends nothing", async () => {
    await expect(fetchIt({}, { http: { offline: true } })).rejects.toMatchObject({ code: "OFFLINE" });
    expect(fixture.hub.requests).toEqual([]);
    expect(readdirSync(fixture.folder)).toEqual([]);
  });
});

describe("access", () => {
  it.each([401, 403])("status %i names the page where the licence is accepted", async (status) => {
    fixture.hub.fault = () => ({ status });
    await expect(fetchIt()).rejects.toMatchObject({
      code: "ACCESS_DENIED",
      hint: expect.stringContaining(`${fixture.hub.url}/own/repo, accept the licence`),
    });
    expect(fixture.hub.fetched()).toHaveLength(1);
  });
});
