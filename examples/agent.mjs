// An elizaOS agent that answers from a model on this machine:
//   LOG_LEVEL=error LOCAL_LARGE_MODEL=/path/to/model.gguf node examples/agent.mjs "What is the capital of France?"
import { AgentRuntime, ModelType, stringToUuid } from "@elizaos/core";
import localInference from "@elizaos/plugin-local-inference";
import sql, { createDatabaseAdapter } from "@elizaos/plugin-sql";

const system = "You answer questions about the world in one full sentence.";
const character = { name: "Eliza", bio: ["A helpful agent."], system };
const agentId = stringToUuid(character.name);
const adapter = createDatabaseAdapter({ dataDir: "memory://" }, agentId);
await adapter.init();
await adapter.runPluginMigrations([{ name: sql.name, schema: sql.schema }], { verbose: false });

const runtime = new AgentRuntime({ character, agentId, adapter, plugins: [localInference] });
await runtime.initialize();

const prompt = process.argv[2] ?? "What is the capital of France?";
const answer = await runtime.useModel(ModelType.TEXT_LARGE, { prompt, temperature: 0, stream: true });
for await (const piece of answer.textStream) process.stdout.write(piece);
process.stdout.write("\n");

await runtime.stop();
await adapter.close();
process.exit(); // a timer of the elizaOS core would keep the process for half a minute
