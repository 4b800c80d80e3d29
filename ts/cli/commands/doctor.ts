import type { TemplateCost } from "../../agent/prompt/costs.js";
import { type DoctorReport, doctorReport, type RoleReport } from "../../views/doctor.js";
import type { MachineView } from "../../views/machine.js";
import { settingLines } from "../../views/settings.js";
import type { CliContext } from "../support/context.js";
import { homeShortened, size } from "../support/output.js";

/** `doctor`: reports machine, models and settings, and how to fix what is wrong. Exits with 1 when something cannot work. */
export async function doctor(context: CliContext): Promise<void> {
  const settings = settingLines((name) => context.overrides[name], context.io.environment, "option");
  const agent = await context.agent();
  const report = await doctorReport(agent, settings).finally(() => agent.close());
  if (report.findings.some(({ level }) => level === "error")) context.exitCode = 1;
  context.result(report, (shownReport) => homeShortened(shown(shownReport)));
}

function shown({ machine, models, roles, prompts, settings, findings }: DoctorReport): string {
  const set = settings.filter(({ source }) => source !== "default" && source !== "unset");
  return [
    ...(machine === undefined ? [] : machineLines(machine)),
    line("models", `${models.folder}, ${models.installed} installed, ${free(models.freeBytes)} free`),
    ...roles.flatMap(roleLines),
    ...prompts.map((cost) => line("prompts", promptText(cost))),
    ...set.map(({ name, value, source }) => line("setting", `${name}=${value} (${source})`)),
    ...(set.length === 0 ? [line("settings", "all at their defaults")] : []),
    "",
    ...(findings.length === 0 ? ["Everything is in order."] : []),
    ...findings.map(
      ({ level, message, remedy }) => `${level}: ${message}${remedy === undefined ? "" : ` ${remedy}`}`,
    ),
  ].join("\n");
}

function machineLines({ facts, backend, capabilities, power, reason }: MachineView): string[] {
  const cores = `${facts.physicalCores} cores, ${facts.logicalCores} threads, ${facts.cpuLimit} usable`;
  return [
    line("processor", `${facts.cpuModel} (${facts.architecture}), ${cores}`),
    line("memory", `${size(facts.memoryTotal)}, ${size(facts.memoryAvailable)} available`),
    ...powerLines(power),
    ...backend.devices.map(({ name, description, backend: via, memoryTotal, memoryFree }) => {
      const memory = memoryTotal > 0 ? `, ${size(memoryFree)} of ${size(memoryTotal)} free` : "";
      return line("device", `${name}: ${description.trim()} through ${via}${memory}`);
    }),
    ...capabilities
      .filter(({ id }) => id !== "cpu")
      .map(({ id, state, reason: why }) => line(id, `${state}: ${why}`)),
    line("llama.cpp", backend.llamaVersion),
    line("computes on", reason),
  ];
}

function powerLines({ onBattery, batteryPercent, temperature }: MachineView["power"]): string[] {
  const known = [
    onBattery === undefined ? undefined : onBattery ? "on battery" : "plugged in",
    batteryPercent === undefined ? undefined : `${Math.round(batteryPercent)} % charged`,
    temperature === undefined ? undefined : `${Math.round(temperature)} °C`,
  ].filter((text) => text !== undefined);
  return known.length === 0 ? [] : [line("power", known.join(", "))];
}

/** How a model is loaded, in one line, and what it uses. */
function roleLines(role: RoleReport, index: number, all: readonly RoleReport[]): string[] {
  const head = line(`${role.role} model`, roleText(role));
  const same = all.slice(0, index).find(({ path }) => path !== undefined && path === role.path);
  if (same !== undefined || role.load === undefined) return [head];
  const load = role.load
    .filter(({ field }) => field !== "path")
    .map(({ field, value, from }) => `${field} ${value} (${from})`);
  return [
    head,
    line("", load.join(", ")),
    ...(role.fit === undefined ? [] : [line("", fitText(role.fit))]),
    ...(role.capabilities ?? []).map(({ id, state, reason }) => line("", `${id} ${state}: ${reason}`)),
  ];
}

function promptText({ template, prompts, promptTokens, evaluatedTokens }: TemplateCost): string {
  const share = Math.round((100 * evaluatedTokens) / Math.max(1, promptTokens));
  return `${template}: ${prompts}, ${share} % of ${promptTokens} tokens evaluated`;
}

function fitText({ verdict, neededBytes, reason }: NonNullable<RoleReport["fit"]>): string {
  const words = { fits: "fits", tight: "is tight", no: "does not fit" }[verdict];
  return `${words}, ${size(neededBytes)}: ${reason}`;
}

function roleText({ model, source, path, quantization, problem }: RoleReport): string {
  if (source === "none") return "none";
  const from = source === "setting" ? "from the settings" : 'chosen with "use"';
  return `${model} (${from})${path === undefined ? "" : `, ${path}, ${quantization}`}${problem === undefined ? "" : `, ${problem}`}`;
}

const line = (name: string, text: string): string => `${name.padEnd(16)}${text}`;
const free = (bytes: number | undefined): string => (bytes === undefined ? "?" : size(bytes));
