import {
  type Begun,
  type Fleet,
  hourMs,
  type Load,
  makeLoad,
  type Outcome,
  runFifo,
  userKinds,
  works,
} from "./fleet-load.ts";
import { openClock } from "./fleet-clock.ts";
import { maxCards, runStudio } from "./fleet-studio.ts";
import { openStage, type Stage } from "./stage.ts";
import { quantile, show } from "./start-and-throughput.ts";

/** The hour's load is made from it alone. */
const seed = 22;

const fleets: Readonly<Record<string, Fleet>> = {
  "50": { type: "fixed", cards: maxCards },
  "30": { type: "fixed", cards: 30 },
  "26": { type: "fixed", cards: 26 },
  jobs: { type: "jobs", waitMs: 60_000 },
  replicas: { type: "replicas" },
};

function fleetOf(name: string): Fleet {
  const known = fleets[name];
  if (known) return known;
  const cards = Number(name);
  if (!(Number.isInteger(cards) && cards > 0))
    throw new Error(
      `There is no fleet "${name}". There are: ${Object.keys(fleets).join(", ")}, and any number of cards.`,
    );
  return { type: "fixed", cards };
}

/**
 * An hour of 2,000 users on fixed and on elastic fleets, by the real scheduler with a clock of its own, against one plain line of the
 * same cards. `chosen`: some of the fleets, by name or number of cards; each takes minutes.
 */
export async function benchFleet(chosen: readonly string[] = Object.keys(fleets)): Promise<string[]> {
  const stage = await openStage("postgres");
  try {
    return await readFleets(stage, chosen);
  } finally {
    await stage.close();
  }
}

/** Throws when a job was lost, ran twice or began where no worker was. */
async function readFleets(stage: Stage, chosen: readonly string[]): Promise<string[]> {
  const clock = await openClock(stage);
  const load = makeLoad(seed);
  const needS = load.arrivals.reduce((sum, { runMs }) => sum + runMs, 0) / 1_000;
  const lines = [
    `seed ${seed}: ${load.arrivals.length} jobs of ${load.users.length} users, ${works.length} workflows, ${show(needS / 3_600, 1)} card hours without loads of models`,
  ];
  for (const name of chosen) {
    const fleet = fleetOf(name);
    const outcome = await runStudio({ stage, clock, load, fleet });
    lines.push(`${nameOf(fleet)}: ${tell(load, outcome.begun)}; ${tellFleet(outcome)}`);
    if (fleet.type === "fixed")
      lines.push(`one line, ${fleet.cards} cards: ${tell(load, runFifo(load, fleet.cards))}`);
  }
  const broken = lines.filter((line) => line.includes("FAULTS"));
  if (broken.length > 0) throw new Error(broken.join("\n"));
  return lines;
}

const nameOf = (fleet: Fleet) =>
  fleet.type === "fixed"
    ? `${fleet.cards} cards`
    : fleet.type === "jobs"
      ? "elastic, jobs"
      : "elastic, replicas";

function tellFleet({ starts, stops, cardMs, busyMs, faults }: Outcome): string {
  const held = faults.length === 0 ? "invariants held" : `FAULTS ${faults.slice(0, 3).join("; ")}`;
  return `${starts} starts, ${stops} stops, ${show(cardMs / hourMs, 1)} card hours, ${show((100 * busyMs) / cardMs, 0)} % of them busy; ${held}`;
}

function tell(load: Load, begun: readonly Begun[]): string {
  const waits = userKinds.map((kind) => {
    const own = begun
      .filter(({ arrival }) => arrival.kind === kind)
      .map(({ arrival, atMs }) => (atMs - arrival.atMs) / 1_000);
    return `${kind} ${[0.5, 0.95, 0.99].map((part) => show(quantile(own, part), 1)).join("/")} s`;
  });
  const loads = begun.filter(({ loadMs }) => loadMs > 0);
  const loadMs = loads.reduce((sum, one) => sum + one.loadMs, 0);
  const workMs = begun.reduce((sum, one) => sum + one.loadMs + one.arrival.runMs, 0);
  return `waits p50/p95/p99 ${waits.join(", ")}; fairness ${show(jainOf(load, begun), 3)}; longest wait of a light user beside a heavy one ${show(worstLightS(begun), 1)} s; ${loads.length} loads of models, ${show((100 * loadMs) / workMs, 1)} % of the work`;
}

/** As in bench/fairness.ts: each start while several users wait is due to them in equal parts. Users who were due a whole start count. */
function jainOf(load: Load, begun: readonly Begun[]): number {
  const waiting = load.users.map(() => 0);
  const due = load.users.map(() => 0);
  const got = load.users.map(() => 0);
  const competing = new Set<number>();
  const moves = [
    ...begun.map(({ arrival }) => ({ atMs: arrival.atMs, user: arrival.user, by: 1 })),
    ...begun.map(({ arrival, atMs }) => ({ atMs, user: arrival.user, by: -1 })),
  ].toSorted((a, b) => a.atMs - b.atMs || b.by - a.by);
  for (const { user, by } of moves) {
    if (by < 0 && competing.size > 1) {
      for (const each of competing) due[each] = (due[each] ?? 0) + 1 / competing.size;
      got[user] = (got[user] ?? 0) + 1;
    }
    const left = (waiting[user] ?? 0) + by;
    waiting[user] = left;
    if (left > 0) competing.add(user);
    else competing.delete(user);
  }
  const shares = due.flatMap((part, user) => (part >= 1 ? [(got[user] ?? 0) / part] : []));
  const sum = shares.reduce((total, share) => total + share, 0);
  return sum ** 2 / (shares.length * shares.reduce((total, share) => total + share ** 2, 0));
}

/** Of light users who came while a heavy user had ten jobs or more in line. */
function worstLightS(begun: readonly Begun[]): number {
  const heavy = begun.filter(({ arrival }) => arrival.kind === "heavy");
  const beside = begun.filter(({ arrival }) => {
    if (arrival.kind !== "light") return false;
    const inLine = heavy.filter((one) => one.arrival.atMs <= arrival.atMs && one.atMs > arrival.atMs);
    return inLine.length >= 10;
  });
  return Math.max(0, ...beside.map(({ arrival, atMs }) => (atMs - arrival.atMs) / 1_000));
}
