import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { SETTINGS } from "../../../ts/settings/settings.js";

interface Parameter {
  type: string;
  description: string;
  required: boolean;
  default?: unknown;
  sensitive: boolean;
}

const manifest = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as {
  agentConfig: { pluginParameters: Record<string, Parameter> };
};
const parameters = manifest.agentConfig.pluginParameters;

it("package.json declares exactly the settings that the plugin reads", () => {
  expect(Object.keys(parameters).sort()).toEqual(Object.keys(SETTINGS).sort());
});

it.each(Object.entries(SETTINGS))("package.json says the same of %s", (name, setting) => {
  const parameter = parameters[name];
  expect(parameter).toMatchObject({
    type: setting.type,
    description: setting.description,
    required: false,
    sensitive: "sensitive" in setting && setting.sensitive,
  });
  const written = parameter?.default === undefined ? undefined : String(parameter.default);
  expect(written).toBe(setting.default);
});

it.each(Object.entries(SETTINGS))("the default of %s is in range", (_, setting) => {
  if (setting.default === undefined) expect(setting.description).toMatch(/Default: |Unset: /);
  else expect(setting.schema.safeParse(setting.default).success).toBe(true);
});
