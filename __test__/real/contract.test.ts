import { describe } from "vitest";
import { keepsTheContract } from "../helpers/contract.js";
import { modelPath } from "../helpers/models.js";

describe("the addon", () => {
  keepsTheContract(
    () => modelPath("tiny"),
    () => {},
  );
});
