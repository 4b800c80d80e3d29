// `@elizaos/plugin-local-inference/memory`: what decides which models of the process stay in memory.
export type { MemoryArbiter } from "../engine/memory/arbiter.js";
export type {
  Lease,
  MemoryEntry,
  MemoryEvent,
  MemoryNeed,
  MemoryOwner,
  MemoryRequest,
  MemorySnapshot,
  Pressure,
  PressureLevel,
} from "../engine/memory/contract.js";
export { memoryArbiter } from "../engine/memory/shared.js";
export { MEMORY_ROLES, type MemoryRole } from "../roles.js";
