import { afterEach, describe, expect, it } from "vitest";
import { explain, loadedNative, loadNative, setNativeForTests } from "../../../ts/native/addon.js";
import { useFake } from "../../helpers/fake-native.js";

afterEach(() => setNativeForTests(undefined));

/** The generated loader links its attempts by `cause`, the last attempt outermost. */
function loaderError(...attempts: [message: string, code?: string][]): Error {
  const chain = attempts.reduce<Error | undefined>((cause, [message, code]) => {
    const error = new Error(message, cause === undefined ? undefined : { cause });
    return code === undefined ? error : Object.assign(error, { code });
  }, undefined);
  return new Error("Cannot find native binding. npm has a bug related to optional dependencies.", {
    cause: chain,
  });
}

describe("why the addon could not be loaded", () => {
  it("no installed package names the platform and the remedy", () => {
    const error = explain(
      loaderError(
        ["Cannot find module './local-inference.linux-x64-gnu.node'", "MODULE_NOT_FOUND"],
        ["Cannot find module '@elizaos/plugin-local-inference-linux-x64-gnu'", "MODULE_NOT_FOUND"],
      ),
    );
    expect(error.code).toBe("BACKEND_UNAVAILABLE");
    expect(error.hint).toContain(`${process.platform}-${process.arch}`);
    expect(error.hint).toContain("optional dependencies");
  });

  it.each([
    ["/lib/libc.so.6: version `GLIBC_2.38' not found (required by x.node)", "GLIBC_2.38"],
    ["libstdc++.so.6: version `GLIBCXX_3.4.32' not found", "GLIBCXX_3.4.32"],
    ["Error relocating x.node: __res_init: symbol not found", "musl"],
    ["libgomp.so.1: cannot open shared object file: No such file or directory", "libgomp.so.1"],
    ["Unsupported architecture on Linux: s390x", "no build"],
    ["Native binding package version mismatch, expected 0.1.0 but got 0.0.9", "different versions"],
  ])("%s is explained", (message, remedy) => {
    const error = explain(loaderError(["Cannot find module './x.node'", "MODULE_NOT_FOUND"], [message]));
    expect(error.message).toContain(message.split("\n")[0]?.replace(/\.$/, ""));
    expect(error.hint).toContain(remedy);
  });

  it("a file that is there and does not load explains more than one that is not there", () => {
    const error = explain(
      loaderError(
        ["x.node: invalid ELF header", "ERR_DLOPEN_FAILED"],
        ["Cannot find module", "MODULE_NOT_FOUND"],
      ),
    );
    expect(error.message).toContain("invalid ELF header");
  });

  it("an error that is not the loader's is kept as the reason", () => {
    expect(explain(new Error("boom"))).toMatchObject({ code: "BACKEND_UNAVAILABLE" });
    expect(explain(new Error("boom")).message).toContain("boom");
  });
});

describe("loading", () => {
  it("importing the package does not load the addon", async () => {
    await import("../../../ts/index.js");
    expect(loadedNative()).toBeUndefined();
  });

  it("the addon is loaded once", async () => {
    const fake = useFake();
    const [first, second] = await Promise.all([loadNative(), loadNative()]);
    expect(first).toBe(second);
    expect(first.takeLogs()).toEqual(fake.logs);
  });
});
