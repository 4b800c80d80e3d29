import { access, constants } from "node:fs/promises";
import { dirname } from "node:path";
import type { Capability } from "../active-model/capability.js";
import { describeLoad } from "../active-model/resolve-load.js";
import type { Agent } from "../agent/agent.js";
import type { TemplateCost } from "../agent/prompt/costs.js";
import { freeBytes, sizeOf } from "../download/files.js";
import { pressureNow } from "../engine/memory/shared.js";
import { LocalInferenceError } from "../errors.js";
import { ACTIVE_ROLES, type ActiveRole, SETTING_OF } from "../roles.js";
import type { Config } from "../settings/config.js";
import { type MachineView, machineView } from "./machine.js";
import { type FitLine, fitLine } from "./models.js";
import type { SettingLine } from "./settings.js";

export interface RoleReport {
  readonly role: ActiveRole;
  readonly model?: string;
  readonly source: "setting" | "choice" | "none";
  readonly path?: string;
  readonly quantization?: string;
  /** How it is loaded, and where each value comes from. */
  readonly load?: readonly { readonly field: string; readonly value: string; readonly from: string }[];
  /** Whether it fits now. */
  readonly fit?: FitLine;
  readonly capabilities?: readonly Capability[];
  readonly warnings?: readonly string[];
  readonly problem?: string;
}

/** A problem or a note, with what to do about it. */
export interface Finding {
  readonly level: "error" | "warning" | "note";
  readonly message: string;
  readonly remedy?: string;
}

export interface DoctorReport {
  readonly machine?: MachineView;
  readonly models: { readonly folder: string; readonly freeBytes?: number; readonly installed: number };
  readonly roles: readonly RoleReport[];
  /** What prompts have cost since the agent started, by template. */
  readonly prompts: readonly TemplateCost[];
  readonly settings: readonly SettingLine[];
  readonly findings: readonly Finding[];
}

/** Checks everything that a working installation needs. Sends no request and changes nothing. */
export async function doctorReport(agent: Agent, settings: readonly SettingLine[]): Promise<DoctorReport> {
  const { config, store } = agent;
  const findings: Finding[] = [];
  const machine = await machineView().catch((error: unknown) => {
    findings.push(failure(error));
    return undefined;
  });
  if (machine !== undefined) findings.push(...machineFindings(machine));
  findings.push(...(await memoryFindings()));
  const installed = await store.installed();
  const roles = await Promise.all(ACTIVE_ROLES.map((role) => roleReport(role, agent)));
  findings.push(...roleFindings(roles, installed.length), ...(await folderFindings(config)));
  if (config.offline)
    findings.push({ level: "note", message: "LOCAL_INFERENCE_OFFLINE is set: no model can be downloaded." });
  const free = await freeBytes(await existingFolder(config.modelsDir)).catch(() => undefined);
  return {
    ...(machine === undefined ? {} : { machine }),
    models: {
      folder: config.modelsDir,
      ...(free === undefined ? {} : { freeBytes: free }),
      installed: installed.length,
    },
    roles,
    prompts: agent.prompts.costs.all(),
    settings,
    findings,
  };
}

async function roleReport(role: ActiveRole, agent: Agent): Promise<RoleReport> {
  const model = agent.modelText(role);
  if (model === undefined) return { role, source: "none" };
  const known = {
    role,
    model,
    source: agent.config.models[role] === undefined ? "choice" : "setting",
  } as const;
  try {
    const resolved = await agent.active.current(role);
    const { kind, quantization } = resolved.model;
    const wrong = (kind === "embedding") !== (role === "embedding");
    return {
      ...known,
      path: resolved.spec.path,
      quantization,
      load: describeLoad(resolved),
      fit: fitLine(resolved.fit),
      capabilities: resolved.capabilities,
      warnings: resolved.warnings,
      ...(wrong ? { problem: `it is a model of the kind ${kind}.` } : {}),
    };
  } catch (error) {
    return { ...known, problem: failure(error).message };
  }
}

function machineFindings({ backend, capabilities }: MachineView): Finding[] {
  const failures = backend.failures.map(({ module, reason }): Finding => {
    return { level: "warning", message: `${module} cannot be used: ${reason}` };
  });
  const idle = capabilities.filter(({ id, state }) => id.startsWith("gpu:") && state === "inactive");
  return [...failures, ...idle.map(({ reason }): Finding => ({ level: "note", message: `${reason}.` }))];
}

async function memoryFindings(): Promise<Finding[]> {
  const { level, reason } = await pressureNow();
  if (level === "none") return [];
  const remedy =
    "Close other programs, or use a smaller model: idle models are unloaded while memory is short.";
  return [{ level: "warning", message: `Memory is short: ${reason}.`, remedy }];
}

function roleFindings(roles: readonly RoleReport[], installed: number): Finding[] {
  const problems = roles
    .filter(({ problem }) => problem !== undefined)
    .map(({ role, problem }): Finding => ({ level: "error", message: `The ${role} model: ${problem}` }));
  const warnings = roles
    .filter(
      ({ role, model }) =>
        role !== "small" || roles.every((one) => one.role !== "large" || one.model !== model),
    )
    .flatMap(({ warnings: texts = [] }) => texts.map((message): Finding => ({ level: "warning", message })));
  const missing = roles.filter(({ source, role }) => source === "none" && role !== "small");
  const remedy = (role: ActiveRole) =>
    installed === 0
      ? 'Type "eliza-local models" to list models, then "eliza-local pull NAME" and "eliza-local use NAME".'
      : `Type "eliza-local use NAME", or set ${SETTING_OF[role]}.`;
  return [
    ...problems,
    ...warnings,
    ...missing.map(({ role }): Finding => {
      const what = role === "large" ? "No text model is chosen." : "No embedding model is chosen.";
      return { level: "warning", message: what, remedy: remedy(role) };
    }),
  ];
}

async function folderFindings({ modelsDir }: Config): Promise<Finding[]> {
  const folder = await existingFolder(modelsDir);
  return access(folder, constants.W_OK).then(
    () => [],
    () => [
      {
        level: "warning",
        message: `This user cannot write to ${folder}.`,
        remedy: "Change its owner, or set MODELS_DIR to another folder.",
      },
    ],
  );
}

/** The folder, or the nearest one above it that exists. */
async function existingFolder(path: string): Promise<string> {
  const exists = await access(path).then(
    () => true,
    () => false,
  );
  if (exists && (await sizeOf(path)) === undefined) return path;
  return dirname(path) === path ? path : existingFolder(dirname(path));
}

function failure(error: unknown): Finding {
  const message = error instanceof Error ? error.message : String(error);
  const hint = error instanceof LocalInferenceError ? error.hint : undefined;
  return hint === undefined ? { level: "error", message } : { level: "error", message, remedy: hint };
}
