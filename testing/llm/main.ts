import { parseArgs } from "node:util";
import { startLlm } from "./index.ts";

const { values } = parseArgs({ options: { port: { type: "string", default: "18780" } } });
const say = (line: string) => void process.stdout.write(`${line}\n`);

/** A simulated server of language models for trying the assistant by hand. */
const llm = await startLlm({ port: Number(values.port) });
say("SIMULATED language model; put these lines into .env:\n");
for (const [name, value] of Object.entries(llm.env)) say(`${name}=${value}`);
say("LLM_VISION_MODEL=local/simulated");
say('\nQuestions with "show" search the gallery, those with "make" propose a picture. Ctrl-C ends it.');
