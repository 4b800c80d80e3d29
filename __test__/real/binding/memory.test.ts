import { expect, it } from "vitest";
import { runChild } from "./support/child.js";

const MIB = 2 ** 20;

it.runIf(process.platform === "linux")(
  "loading, generating and closing 20 times gives the memory back",
  async () => {
    const { code, signal, stdout, stderr } = await runChild("memory.mjs", { args: ["20"] });
    expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: "" });
    const { start, open, rounds } = JSON.parse(stdout) as { start: number; open: number; rounds: number[] };
    const last = rounds.at(-1) ?? Number.NaN;
    const mib = (bytes: number) => Math.round(bytes / MIB);
    console.log(
      `anonymous MiB: start ${mib(start)}, open ${mib(open)}, after closing ${rounds.map(mib).join(" ")}`,
    );
    // The allocator keeps up to a context of 24 MiB in an arena of each worker thread; a leak of one a round is 360 MiB.
    expect(last - (rounds[4] ?? Number.NaN)).toBeLessThan(64 * MIB);
    expect(last - start).toBeLessThan(100 * MIB);
  },
);
