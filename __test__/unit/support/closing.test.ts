import { describe, expect, it } from "vitest";
import { Closing } from "../../../ts/support/closing.js";
import { deferred } from "../../../ts/support/deferred.js";

describe("the end of an object", () => {
  it("releases its memory once, however often it is closed, and everybody waits for it", async () => {
    const memory = deferred<void>();
    let released = 0;
    const closing = new Closing("thing", () => {
      released += 1;
      return memory.promise;
    });
    let done = 0;
    const closes = [closing.close(), closing.close()].map((close) => close.then(() => (done += 1)));
    await new Promise((resolve) => setImmediate(resolve));
    expect([released, done]).toEqual([1, 0]);
    memory.resolve();
    await Promise.all(closes);
    expect(done).toBe(2);
    await closing.close();
    expect(released).toBe(1);
  });

  it("refuses every use with CLOSED and the object's name, from the moment it begins", async () => {
    const during: boolean[] = [];
    const closing: Closing = new Closing("thing", async () => void during.push(closing.closed));
    expect(() => closing.assertOpen()).not.toThrow();
    const closed = closing.close();
    expect(() => closing.assertOpen()).toThrow(
      expect.objectContaining({ code: "CLOSED", message: expect.stringContaining("The thing is closed.") }),
    );
    await closed;
    expect(during).toEqual([true]);
  });

  it("fails for everybody when the release fails", async () => {
    const closing = new Closing("thing", async () => {
      throw new Error("no");
    });
    await expect(closing.close()).rejects.toThrow("no");
    await expect(closing.close()).rejects.toThrow("no");
  });
});
