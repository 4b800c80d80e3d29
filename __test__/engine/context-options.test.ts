import { expectTypeOf, it } from "vitest";
import type * as Addon from "../../index.js";
import type { ContextOptions, StateFolder } from "../../ts/engine/text/context-options.js";

// Checked by the compiler: npm run typecheck.
it("the documented options are those of the addon", () => {
  expectTypeOf<ContextOptions>().toEqualTypeOf<Addon.ContextOptions>();
  expectTypeOf<StateFolder>().toEqualTypeOf<Addon.StateFolder>();
});
