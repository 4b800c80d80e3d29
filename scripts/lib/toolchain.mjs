// The programs and libraries of the system that a build from source needs, and how to get them.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Failure, step } from "./log.mjs";
import { run, succeeds, which } from "./run.mjs";

const compiler = () => process.env.CXX ?? ["c++", "g++", "clang++"].find((name) => which(name));

function compilesCxx17() {
  const name = compiler();
  const source = "#include <string_view>\nconstexpr std::string_view text = {};\n";
  return name !== undefined && succeeds(name, ["-std=c++17", "-fsyntax-only", "-x", "c++", "-"], source);
}

const hasFile = (folder, pattern) =>
  existsSync(folder) && readdirSync(folder).some((name) => pattern.test(name));

/** bindgen loads libclang; these are folders in which it looks on Linux and macOS. */
function libclangFolders() {
  const versions = existsSync("/usr/lib")
    ? readdirSync("/usr/lib").filter((name) => /^llvm-\d+$/.test(name))
    : [];
  return [
    ...versions.map((name) => join("/usr/lib", name, "lib")),
    ...[
      "/usr/lib",
      "/usr/lib64",
      "/usr/local/lib",
      "/usr/lib/x86_64-linux-gnu",
      "/usr/lib/aarch64-linux-gnu",
    ],
    ...[
      "/Library/Developer/CommandLineTools/usr/lib",
      "/opt/homebrew/opt/llvm/lib",
      "/usr/local/opt/llvm/lib",
    ],
  ];
}

const hasLibclang = () =>
  Boolean(process.env.LIBCLANG_PATH) ||
  libclangFolders().some((folder) => hasFile(folder, /^libclang([-.][\d.]+)?\.(so|dylib)/));

const program = (name, debian = [name], brew = [name]) => ({
  name,
  isThere: () => Boolean(which(name)),
  debian,
  brew,
});

const buildTools = [
  program("cmake"),
  program("ninja", ["ninja-build"]),
  { name: "a C++17 compiler", isThere: compilesCxx17, debian: ["g++", "libc6-dev"], brew: [] },
  // clang itself: bindgen asks it for the folder of its standard headers.
  { name: "libclang", isThere: hasLibclang, debian: ["clang", "libclang-dev"], brew: ["llvm"] },
  ...(process.platform === "linux" ? [program("readelf", ["binutils"]), program("strip", ["binutils"])] : []),
  program("git"),
  program("python3", ["python3"], ["python"]),
];

const pip = {
  name: "python3 with pip",
  isThere: () => succeeds("python3", ["-m", "pip", "--version"]),
  debian: ["python3-pip"],
  brew: ["python"],
};

/** Only worth installing together with something that is needed: it makes the next clone's build short. */
const optionalDebian = ["ccache"];

const isDebian = () => process.platform === "linux" && Boolean(which("apt-get"));

/** The commands that install what `missing` needs; `prefix` gives the rights to do so. */
function debianCommands(missing, prefix) {
  const packages = [...new Set([...missing.flatMap((tool) => tool.debian), ...optionalDebian])];
  return [
    [...prefix, "apt-get", "update"],
    [...prefix, "apt-get", "install", "-y", "--no-install-recommends", ...packages],
  ];
}

/** undefined if the system cannot be changed without asking. */
function rootPrefix() {
  if (process.getuid?.() === 0) return [];
  return which("sudo") && succeeds("sudo", ["-n", "true"]) ? ["sudo", "-n"] : undefined;
}

function adviceFor(missing) {
  if (isDebian()) {
    const lines = debianCommands(missing, ["sudo"]).map((command) => command.join(" "));
    return `run\n  ${lines.join(" && ")}`;
  }
  if (process.platform === "darwin") {
    const formulas = [...new Set(missing.flatMap((tool) => tool.brew))];
    return `run\n  xcode-select --install; brew install ${formulas.join(" ")}`;
  }
  return "install what is missing with the system's package manager";
}

function installDebian(missing, prefix) {
  for (const [command, ...args] of debianCommands(missing, prefix)) {
    step(`${command} ${args.join(" ")}`);
    // apt's progress is hundreds of lines; its errors are on stderr.
    const stdout = process.stderr.isTTY ? "stderr" : "ignore";
    run(command, args, { env: { DEBIAN_FRONTEND: "noninteractive" }, stdout });
  }
}

function requireCargo() {
  if (which("cargo")) return;
  throw new Failure("cargo is missing: install Rust (see README.md)");
}

/** Makes sure that the tools are there; `models`: also what fetching models needs. */
export function ensureToolchain({ models }) {
  requireCargo();
  const wanted = models ? [...buildTools, pip] : buildTools;
  const absent = () => wanted.filter((tool) => !tool.isThere());
  const missing = absent();
  if (missing.length === 0) return;
  const names = (tools) => tools.map((tool) => tool.name).join(", ");
  const prefix = isDebian() ? rootPrefix() : undefined;
  if (prefix === undefined) throw new Failure(`missing: ${names(missing)}; ${adviceFor(missing)}`);
  step(`missing: ${names(missing)}`);
  installDebian(missing, prefix);
  const still = absent();
  if (still.length > 0) throw new Failure(`still missing after the installation: ${names(still)}`);
}
