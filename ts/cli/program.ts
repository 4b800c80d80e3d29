import { readFileSync } from "node:fs";
import { Command, CommanderError, InvalidArgumentError } from "commander";
import { COMPANION_ROLES } from "../roles.js";
import { chat } from "./commands/chat.js";
import { doctor } from "./commands/doctor.js";
import { embed } from "./commands/embed.js";
import { inspect } from "./commands/inspect.js";
import { remove, verify } from "./commands/installed.js";
import { listen } from "./commands/listen.js";
import { models } from "./commands/models.js";
import { pull } from "./commands/pull.js";
import { use } from "./commands/use.js";
import { CliContext, describe, EXIT_CODES, type GlobalOptions } from "./support/context.js";
import { type Io, writeJson, writeLine } from "./support/output.js";

type Work = (context: CliContext, ...rest: never[]) => Promise<void>;

const EXITS = `
Exit status: 0 done; 1 failed; 2 wrong use; 3 model not found; 4 a file is damaged; 130 interrupted.`;

/** Runs one command line. @returns the exit status. */
export async function runCli(args: readonly string[], io: Io, signal: AbortSignal): Promise<number> {
  let status = 0;
  /** Commander passes arguments, the command's options and the command. */
  const run =
    (work: Work) =>
    async (...given: unknown[]) => {
      const command = given.pop() as Command;
      status = await execute(work, given, command.optsWithGlobals<GlobalOptions>(), io, signal);
    };
  const program = commands(run)
    .configureOutput({
      writeOut: (text) => void io.out.write(text),
      writeErr: (text) => void io.err.write(text),
      outputError: (text, write) => write(text),
    })
    .exitOverride();
  for (const command of program.commands) command.copyInheritedSettings(program);
  try {
    await program.parseAsync([...args], { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    throw error;
  }
  return status;
}

async function execute(
  work: Work,
  given: readonly unknown[],
  options: GlobalOptions,
  io: Io,
  signal: AbortSignal,
): Promise<number> {
  let context: CliContext;
  try {
    context = new CliContext(io, options, signal);
  } catch (error) {
    const shown = describe(error);
    if (options.json) writeJson(io.out, { error: shown });
    else writeLine(io.err, `error: ${shown.message}`);
    return EXIT_CODES[shown.code] ?? 1;
  }
  try {
    await work(context, ...(given as never[]));
    return context.exitCode;
  } catch (error) {
    return context.fail(error);
  }
}

function commands(run: (work: Work) => (...given: unknown[]) => Promise<void>): Command {
  const program = new Command("eliza-local")
    .description("Local models for elizaOS: list, fetch, choose and try them.")
    .version(version(), "-V, --version")
    .option("--json", "print one JSON value instead of text")
    .option("-q, --quiet", "print results and errors only")
    .option("--models-dir <folder>", "folder of the models (MODELS_DIR)")
    .option("--offline", "send no request to the hub (LOCAL_INFERENCE_OFFLINE)")
    .addHelpText("after", EXITS);
  program
    .command("models")
    .description("list the catalog with what fits this machine, and the installed models")
    .option("-i, --installed", "installed models only")
    .action(run(models));
  program
    .command("pull <model>")
    .description(
      "fetch a model: a name of the catalog, hf:owner/repository/file.gguf, or an address of the hub",
    )
    .option("--with <companions>", `also fetch these: ${COMPANION_ROLES.join(", ")}; all or none`)
    .option("--list", "list the GGUF models of a repository instead")
    .option("--dry-run", "show what would be fetched")
    .action(run(pull));
  program
    .command("use [model]")
    .description(
      "choose an installed model for agents whose settings name none; without a name, show the choice",
    )
    .option(
      "--role <role>",
      "text (small and large), small, large or embedding; default: what the model can do",
    )
    .option("--clear", "forget the choice")
    .action(run(use));
  program
    .command("rm <model>")
    .description("delete a model from the models folder")
    .option("-y, --yes", "do not ask")
    .option("--dry-run", "show what would be freed")
    .action(run(remove));
  program
    .command("verify [models...]")
    .description("compare files with their checksums; default: every downloaded model")
    .action(run(verify));
  program
    .command("inspect <file>")
    .description("show the header of a GGUF file or an installed model, and what its KV cache takes")
    .action(run(inspect));
  program
    .command("doctor")
    .description("report machine, devices, settings and models, and how to fix what is wrong")
    .action(run(doctor));
  generation(program, run);
  hearing(program, run);
  return program;
}

function generation(program: Command, run: (work: Work) => (...given: unknown[]) => Promise<void>): void {
  program
    .command("chat [words...]")
    .description("answer the words given or piped in; without words on a terminal, start a conversation")
    .option("-m, --model <model>", "an installed model or a file; default: the chosen one")
    .option("-s, --system <text>", "the system message")
    .option("-n, --max-tokens <count>", "longest answer in tokens", wholeNumber)
    .option("-t, --temperature <value>", "0 always takes the likeliest token", decimal)
    .option("--seed <number>", "the same seed gives the same answer", wholeNumber)
    .option("--think", "let the model reason before it answers, if it can")
    .action(run(chat));
  program
    .command("embed [texts...]")
    .description("print a vector for each text given, or for each line piped in")
    .option("-m, --model <model>", "an installed model or a file; default: the chosen one")
    .action(run(embed));
}

function hearing(program: Command, run: (work: Work) => (...given: unknown[]) => Promise<void>): void {
  program
    .command("listen <file>")
    .description("show who speaks when in a WAV file (- for what is piped in), and which wake words are said")
    .option("--rate <rate>", "the input is 16-bit samples of one channel at this rate", wholeNumber)
    .option("--wake <heads...>", "files of wake word heads (ONNX or safetensors)")
    .option("--threshold <value>", "score from which on a wake word counts as said; default 0.5", decimal)
    .option("--model <version>", "v5 or v6 of Silero VAD; default v6")
    .option("--plot <file>", "also draw the sound with its segments, as SVG")
    .action(run(listen));
}

function wholeNumber(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Pass a whole number.");
}

function decimal(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value >= 0) return value;
  throw new InvalidArgumentError("Pass a number of 0 or more.");
}

function version(): string {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
