import { parseArgs } from "node:util";
import { benchAcceptToStarted } from "./accept-to-started.ts";
import { benchColdStart } from "./cold-start.ts";
import { benchThroughput } from "./throughput.ts";

const benches: Readonly<Record<string, () => Promise<string[]>>> = {
  "p1-postgres": () => benchAcceptToStarted("postgres"),
  "p1-redis": () => benchAcceptToStarted("redis"),
  "p2-postgres": () => benchThroughput("postgres"),
  "p2-redis": () => benchThroughput("redis"),
  p11: () => benchColdStart(),
};

const { positionals } = parseArgs({ allowPositionals: true });
const chosen = positionals.length > 0 ? positionals : Object.keys(benches);
for (const name of chosen) {
  const bench = benches[name];
  if (!bench) {
    console.error(`There is no benchmark "${name}". There are: ${Object.keys(benches).join(", ")}.`);
    process.exitCode = 1;
    continue;
  }
  console.log(`${name}`);
  for (const line of await bench()) console.log(`  ${line}`);
}
process.exit();
