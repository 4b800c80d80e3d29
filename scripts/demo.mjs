// Talks with an elizaOS agent whose model runs on this machine. A fresh clone is set up first.
import { parseArgs } from "node:util";
import { main } from "./lib/log.mjs";
import { fromRoot } from "./lib/paths.mjs";
import { run } from "./lib/run.mjs";

const usage = `usage: npm run demo [-- "QUESTION"]
       npm run demo -- --chat

Starts an elizaOS agent and prints its answer to QUESTION as the model writes it, then one line of figures. With --chat
it is a conversation. Ctrl-C stops an answer; a second Ctrl-C leaves. LOCAL_LARGE_MODEL and LOCAL_EMBEDDING_MODEL
choose other models than the development ones.`;

const options = {
  chat: { type: "boolean" },
  help: { type: "boolean", short: "h" },
};

await main(async () => {
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  if (values.help) return console.log(usage);
  run(process.execPath, [fromRoot("scripts/setup.mjs")], { stdout: "stderr" });
  // Imported only now: what it needs may just have been installed.
  const { demo } = await import("./demo-agent.mjs");
  await demo({ question: positionals.join(" ").trim(), chat: values.chat === true });
});
// Everything is closed, but a timer of the elizaOS core would keep the process for another half minute.
process.exit();
