import { parseArgs } from "node:util";
import { startIopaintSimulator } from "./simulator.ts";

const options = {
  port: { type: "string", default: "8080" },
  "work-ms": { type: "string", default: "500" },
  model: { type: "string", default: "lama" },
  plugins: { type: "string" },
} as const;

/** The simulator as a process of its own; SIGTERM ends it. */
async function main(): Promise<void> {
  const { values } = parseArgs({ options });
  const simulator = await startIopaintSimulator({
    port: Number(values.port),
    workMs: Number(values["work-ms"]),
    model: values.model,
    plugins: values.plugins?.split(","),
  });
  process.stdout.write(`SIMULATOR of IOPaint listens on ${simulator.url}\n`);
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => void simulator.close().then(() => process.exit(0)));
  }
}

await main();
