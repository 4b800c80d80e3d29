import { SETTINGS, type Setting, type SettingName } from "../settings/settings.js";

/** A setting with where its value comes from. */
export interface SettingLine {
  readonly name: SettingName;
  /** As written; a secret is not shown. */
  readonly value?: string;
  readonly source: "option" | "agent" | "environment" | "default" | "unset";
}

/** Every setting and its source, in the order they are read: options or the agent's own, the environment, the default. */
export function settingLines(
  own: (name: SettingName) => unknown,
  environment: NodeJS.ProcessEnv,
  ownSource: "option" | "agent",
): SettingLine[] {
  return (Object.keys(SETTINGS) as SettingName[]).map((name) => {
    const { sensitive, default: standard } = SETTINGS[name] as Setting<unknown>;
    const sources = [
      [ownSource, own(name)],
      ["environment", environment[name]],
      ["default", standard],
    ] as const;
    for (const [source, value] of sources) {
      const text = value === null || value === undefined ? "" : String(value).trim();
      if (text !== "") return { name, value: sensitive ? "set" : text, source };
    }
    return { name, source: "unset" };
  });
}
