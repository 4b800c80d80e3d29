// The platforms that the addon is built for, and which of them this machine is.
import { Failure } from "./log.mjs";

const platforms = [
  {
    name: "linux-x64-gnu",
    triple: "x86_64-unknown-linux-gnu",
    is: () => process.platform === "linux" && process.arch === "x64" && usesGlibc(),
  },
];

const usesGlibc = () => Boolean(process.report.getReport().header.glibcVersionRuntime);

/** `{ name, triple }` of this machine: the npm folder's name and the Rust target. */
export function hostPlatform() {
  const found = platforms.find((platform) => platform.is());
  if (found) return { name: found.name, triple: found.triple };
  const known = platforms.map((platform) => platform.name).join(", ");
  throw new Failure(
    `${process.platform}-${process.arch} is not a supported platform yet (supported: ${known})`,
  );
}
