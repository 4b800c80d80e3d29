import { totalmem } from "node:os";
import type { LoadOptions } from "../native/addon.js";
import { hardwareFacts } from "../native/machine.js";

/**
 * Whether weights are mapped, where nobody says.
 *
 * A control group is charged for the pages of a mapped file as long as the kernel keeps them, also when the model has
 * left: they would count as used when the next model asks for room. So weights are read into memory of their own there.
 */
export async function withMapping(load: LoadOptions = {}): Promise<LoadOptions> {
  if (load.useMmap !== undefined || load.useMlock === true) return load;
  const { memoryTotal } = await hardwareFacts();
  // Systems count the memory of a machine a little differently.
  return memoryTotal < totalmem() * 0.95 ? { ...load, useMmap: false } : load;
}
