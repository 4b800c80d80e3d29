// Ends in the way that the first argument names, in the middle of native work.
import { setTimeout as sleep } from "node:timers/promises";
import { addon, CHAT, EMBEDDING, ENDLESS, load, openTiny, say } from "./common.mjs";

const [how, threads] = [process.argv[2], Number(process.argv[3] ?? 1)];

async function stream() {
  const { context } = await openTiny(threads);
  const stream = context.generate(ENDLESS);
  await stream.next();
  return { context, stream };
}

const ENDINGS = {
  async exit() {
    await stream();
    process.exit(3);
  },
  async throw() {
    await stream();
    setImmediate(() => {
      throw new Error("nobody catches this");
    });
  },
  async signal() {
    const { stream: running } = await stream();
    say("ready");
    while (await running.next());
    await sleep(60_000);
  },
  async natural() {
    await stream();
  },
  async prefill() {
    const { context, stream: running } = await stream();
    running.cancel();
    context.generate({ promptTokens: new Uint32Array(2000).fill(7), maxTokens: 1 }).next();
    setImmediate(() => process.exit(4));
  },
  async loading() {
    addon.loadModel(CHAT, { useMmap: false }).result();
    setTimeout(() => process.exit(5), Number(process.argv[4] ?? 0));
  },
  async tokenizing() {
    const model = await load(CHAT);
    model.tokenize("hello world ".repeat(100_000), {});
    setTimeout(() => process.exit(6), 2);
  },
  async embedding() {
    const embedder = await (await load(EMBEDDING)).openEmbedder({ threads });
    for (let call = 0; call < 30; call++) embedder.embed(["hello ".repeat(200)], {}).result();
    setTimeout(() => process.exit(7), 20);
  },
  async closing() {
    const { context } = await stream();
    context.close();
    process.exit(8);
  },
  async hook() {
    const { context } = await stream();
    process.on("exit", () => {
      try {
        context.generate(ENDLESS);
      } catch (error) {
        say(error.message);
      }
    });
    process.exit(9);
  },
};

await ENDINGS[how]();
