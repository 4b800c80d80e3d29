import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hostPlatform } from "../../../scripts/lib/host.mjs";
import { fromRoot } from "../../../scripts/lib/paths.mjs";

export const rootName = "@elizaos/plugin-local-inference";
export const platform = hostPlatform().name;
export const platformName = `${rootName}-${platform}`;

/** What `npm pack --json` says about one tarball. */
export interface Packed {
  filename: string;
  version: string;
  unpackedSize: number;
  files: { path: string; size: number }[];
}

export interface Installation {
  /** The project that depends on both packages. */
  folder: string;
  root: Packed;
  platform: Packed;
  /** A file of an installed package. */
  pathOf(packageName: string, ...parts: string[]): string;
  remove(): void;
}

/** Far more than any program here takes: only one that hangs is ended by it. */
const limitMs = 200_000;

/** Runs a program in `cwd` and returns its stdout; throws with everything it printed if it fails. */
export function execute(command: string, args: string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    encoding: "utf8",
    timeout: limitMs,
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}: status ${status}\n${stdout}\n${stderr}`);
  return stdout;
}

export const readJson = (path: string) => JSON.parse(readFileSync(path, "utf8"));

function pack(source: string, destination: string): Packed {
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", destination];
  const [packed] = JSON.parse(execute("npm", args, source)) as Packed[];
  if (!packed) throw new Error(`npm packed nothing of ${source}`);
  return packed;
}

/**
 * Packs both packages and installs the tarballs in a project of its own. What they depend on is taken from this
 * repository's node_modules, so that nothing is asked of a registry.
 */
export function installPacked(): Installation {
  const folder = mkdtempSync(join(tmpdir(), "packaging-"));
  const root = pack(fromRoot(), folder);
  const native = pack(fromRoot("npm", platform), folder);
  const { dependencies } = readJson(fromRoot("package.json"));
  const local = (name: string) => `file:${fromRoot("node_modules", name)}`;
  const manifest = {
    name: "consumer",
    private: true,
    type: "module",
    dependencies: {
      [rootName]: `file:${root.filename}`,
      [platformName]: `file:${native.filename}`,
      "@elizaos/core": local("@elizaos/core"),
      "@types/node": local("@types/node"),
      ...Object.fromEntries(Object.keys(dependencies).map((name) => [name, local(name)])),
    },
  };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  // npm would run the development scripts of the linked folders; a registry's packages have none.
  const options = ["--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"];
  execute("npm", ["install", ...options], folder);
  return {
    folder,
    root,
    platform: native,
    pathOf: (packageName, ...parts) => join(folder, "node_modules", packageName, ...parts),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
