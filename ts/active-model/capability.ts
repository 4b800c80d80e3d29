/**
 * `active`: the decode path uses it. `inactive`: it is available and not used. `absent`: the build, the machine or the model
 * lacks it. None of them ever keeps a model from loading.
 */
export type CapabilityState = "active" | "inactive" | "absent";

export interface Capability {
  /** Stable: `speculation`, `flash-attention`, `kernel:turbo3`, `gpu:cuda`, … */
  readonly id: string;
  readonly state: CapabilityState;
  /** One line for people. */
  readonly reason: string;
}
