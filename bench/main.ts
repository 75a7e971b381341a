import { parseArgs } from "node:util";
import { benchAdjustPreview } from "./adjust-preview.ts";
import { benchAdminPages } from "./admin-pages.ts";
import { benchAsk, benchOwnSet, benchRecall } from "./assistant.ts";
import { benchCancelLatency } from "./cancel-latency.ts";
import { benchColdStart } from "./cold-start.ts";
import { benchDeliveries } from "./deliveries.ts";
import { benchDriver } from "./driver.ts";
import { benchDuplicates } from "./duplicates.ts";
import { benchEstimateError } from "./estimate-error.ts";
import { benchFairness } from "./fairness.ts";
import { benchFleet } from "./fleet.ts";
import { benchFindPictures } from "./find-pictures.ts";
import { benchFanOut } from "./live.ts";
import { benchDroppedStreams, benchFinishToBrowser } from "./live-streams.ts";
import { benchPages } from "./pages.ts";
import { benchChain, benchFaultyProvider, benchWebhooks } from "./providers.ts";
import { benchProvenance } from "./provenance.ts";
import { benchQuick } from "./quick.ts";
import { benchRecallKinds } from "./recall.ts";
import { benchRecovery } from "./recovery.ts";
import { benchScaleOut, longJobs, shortJobs } from "./scale-out.ts";
import { benchAcceptToStarted, benchThroughput } from "./start-and-throughput.ts";
import { benchStatements } from "./statements.ts";
import { benchTimeline } from "./timeline.ts";
import { benchTracing } from "./tracing.ts";
import { benchWholeStudio, quickPicture, slowPicture } from "./whole-studio.ts";

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    talks: { type: "string" },
    model: { type: "string" },
    users: { type: "string" },
    gate: { type: "string" },
    fleet: { type: "string", multiple: true },
  },
});

const benches: Readonly<Record<string, () => Promise<string[]>>> = {
  "p1-postgres": () => benchAcceptToStarted("postgres"),
  "p1-redis": () => benchAcceptToStarted("redis"),
  "p2-postgres": () => benchThroughput("postgres"),
  "p2-redis": () => benchThroughput("redis"),
  statements: () => benchStatements("redis"),
  driver: () => benchDriver(),
  "p3-postgres": () => benchScaleOut("postgres", shortJobs),
  "p3-redis": () => benchScaleOut("redis", shortJobs),
  "p3-postgres-2s": () => benchScaleOut("postgres", longJobs),
  "p3-redis-2s": () => benchScaleOut("redis", longJobs),
  "p4-postgres": () => benchWholeStudio("postgres", quickPicture),
  "p4-redis": () => benchWholeStudio("redis", quickPicture),
  "p4-postgres-2s": () => benchWholeStudio("postgres", slowPicture),
  "p4-redis-2s": () => benchWholeStudio("redis", slowPicture),
  "r2-postgres": () => benchRecovery("postgres"),
  "r2-redis": () => benchRecovery("redis"),
  "cancel-postgres": () => benchCancelLatency("postgres"),
  "cancel-redis": () => benchCancelLatency("redis"),
  estimate: () => benchEstimateError("redis"),
  "fairness-postgres": () => benchFairness("postgres"),
  "fairness-redis": () => benchFairness("redis"),
  fleet: () => benchFleet(values.fleet),
  "p5-postgres": () => benchFinishToBrowser("postgres"),
  "p5-redis": () => benchFinishToBrowser("redis"),
  "p6-1000": () => benchFanOut(1_000),
  "p6-5000": () => benchFanOut(5_000),
  p7: () => benchDroppedStreams(),
  p10: () => benchChain(),
  "provider-webhooks": () => benchWebhooks(),
  deliveries: () => benchDeliveries(),
  r6: () => benchFaultyProvider(),
  b1: () => benchAsk(),
  m2: () => benchOwnSet(),
  m3: () => benchRecall(),
  recall: () =>
    benchRecallKinds({ talks: values.talks, model: values.model, users: Number(values.users ?? Infinity) }),
  o2: () => benchAdminPages(),
  p11: () => benchColdStart(),
  find: () => benchFindPictures(),
  duplicates: () => benchDuplicates(),
  "adjust-preview": () => benchAdjustPreview(),
  provenance: () => benchProvenance(values.gate),
  quick: () => benchQuick(),
  timeline: () => benchTimeline(),
  tracing: () => benchTracing("postgres"),
  pages: () => benchPages(),
};

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
