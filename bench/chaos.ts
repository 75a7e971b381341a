import { parseArgs } from "node:util";
import { runTool } from "../scripts/process/tools.ts";
import { benchKilledWorkers } from "./killed-workers.ts";
import { benchIdleHolder } from "./recovery.ts";

/** Tests of faults with the product's own times, which take longer than a test may. */
const files = ["testing/chaos/deploy-overlap.test.ts"];

const { positionals: names, values } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: "string" }, kills: { type: "string", default: "1000" } },
});
const kills = Number(values.kills);
const seed = values.seed === undefined ? Date.now() % 1_000_000 : Number(values.seed);

const benches = {
  "r1-postgres": () => benchKilledWorkers({ backend: "postgres", seed, kills }),
  "r1-redis": () => benchKilledWorkers({ backend: "redis", seed, kills }),
  "f19-postgres": () => benchIdleHolder("postgres", { isLimited: true }),
  "f19-postgres-unlimited": () => benchIdleHolder("postgres", { isLimited: false }),
  "f19-redis": () => benchIdleHolder("redis", { isLimited: true }),
  "f19-redis-unlimited": () => benchIdleHolder("redis", { isLimited: false }),
} as const;

/** Without names everything, else these benches alone. */
const unknown = names.filter((name) => !(name in benches));
if (unknown.length > 0 || !Number.isSafeInteger(seed) || !Number.isSafeInteger(kills)) {
  console.error(`There is no ${unknown.join(", ")}; there are ${Object.keys(benches).join(", ")}.`);
  process.exit(2);
}
let isOk = true;
if (names.length === 0) {
  const tests = await runTool("vitest", ["run", ...files], { env: { ATELIER_CHAOS: "long" } });
  isOk = tests.isOk;
  console.log(`${isOk ? "ok" : "FAIL"} in ${tests.tookSeconds.toFixed(0)} s`);
}
for (const [name, bench] of Object.entries(benches)) {
  if (names.length > 0 && !names.includes(name)) continue;
  console.log(name);
  for (const line of await bench()) console.log(`  ${line}`);
}
process.exit(isOk ? 0 : 1);
