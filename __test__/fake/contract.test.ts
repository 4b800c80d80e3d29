import { afterEach, describe } from "vitest";
import { setNativeForTests } from "../../ts/native/addon.js";
import { keepsTheContract } from "../helpers/contract.js";
import { useFake } from "../helpers/fake-native.js";

afterEach(() => setNativeForTests(undefined));

describe("the stand-in of the addon", () => {
  keepsTheContract(() => "fake.gguf", useFake);
});
