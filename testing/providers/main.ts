import { parseArgs } from "node:util";
import { providerNames } from "@atelier/server/providers";
import { startProviders } from "./index.ts";

const { values } = parseArgs({ options: { port: { type: "string", default: "18700" } } });
/** Each provider has the next one. */
const firstPort = Number(values.port);

/** Simulated providers for trying the studio by hand: no picture is made and nothing is charged. */
const { env, simulators } = await startProviders(providerNames, { firstPort });
for (const simulator of Object.values(simulators)) simulator.runMs = 4_000;
const say = (line: string) => void process.stdout.write(`${line}\n`);
say("SIMULATED providers; put these lines into .env:\n");
for (const [name, value] of Object.entries(env)) say(`${name}=${value}`);
say("\nCtrl-C ends them.");
