import { metricsOf, readFigures } from "@atelier/server/assistant";
import { readAnyStory, searchJobs, searchJobsSchema } from "@atelier/server/jobs";
import {
  listUsersSchema,
  metricsText,
  readNodes,
  readOverview,
  readUsers,
  rollUp,
  windowNames,
} from "@atelier/server/monitoring";
import type { Services } from "@atelier/server/services";
import { recordStatements } from "./statements.ts";
import { quantile, show, summarise } from "./start-and-throughput.ts";
import { seedHistory } from "./seed-history.ts";
import { openStage, type Stage } from "./stage.ts";

const [few, many] = [10_000, 1_000_000];
const rounds = 7;
const callsPerRound = 4;

type Page = (services: Services) => Promise<unknown>;

/** O2: the admin pages and GET /metrics with a million jobs of 90 days against ten thousand, in turn. */
export async function benchAdminPages(): Promise<string[]> {
  const stages = { few: await openStage("postgres"), many: await openStage("postgres") };
  const seededMs = await timed(() => seedHistory(stages.many, many));
  await seedHistory(stages.few, few);
  const rolledMs = await timed(() => rollUp(stages.many.services));
  await rollUp(stages.few.services);
  const pages = { few: await listPages(stages.few), many: await listPages(stages.many) };
  const lines = [
    `${many} jobs seeded in ${show(seededMs / 1_000, 0)} s; adding up their hours once: ${show(rolledMs / 1_000, 1)} s`,
  ];
  for (const [name, page] of Object.entries(pages.many))
    lines.push(await measure(name, { stages, page, small: pages.few[name] ?? page }));
  await stages.few.close();
  await stages.many.close();
  return lines;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const beganMs = performance.now();
  await work();
  return performance.now() - beganMs;
}

/** What the pages read, as their routes do; ids and cursors are those of the stage. */
async function listPages(stage: Stage): Promise<Record<string, Page>> {
  const search = (input: object): Page => {
    const parsed = searchJobsSchema.parse(input);
    return (services) => searchJobs(services, parsed);
  };
  const users = (input: object): Page => {
    const parsed = listUsersSchema.parse(input);
    return (services) => readUsers(services, parsed);
  };
  const [deep] = await stage.query<{ id: string }>(
    "select id from jobs where created_at < now() - interval '60 days' order by id desc limit 1",
  );
  const [failed] = await stage.query<{ id: string }>(
    "select id from jobs where status = 'failed' and ended_at > now() - interval '2 days' limit 1",
  );
  const overviews = windowNames.map((window) => [
    `overview ${window}`,
    (services: Services) => readOverview(services, { window }),
  ]);
  return {
    ...Object.fromEntries(overviews),
    nodes: readNodes,
    users: users({}),
    "users searched": users({ search: "person-4" }),
    jobs: search({}),
    "jobs, a page of 60 days ago": search({ cursor: deep?.id }),
    "jobs open": search({ status: "open" }),
    "jobs failed": search({ status: "failed" }),
    "jobs failed for one cause": search({ status: "failed", code: "server_lost" }),
    "jobs of a kind": search({ kind: "outfit_change" }),
    "jobs with a word": search({ text: "abcde" }),
    "jobs with a word that is nowhere": search({ text: "no such word" }),
    "jobs of a person": search({ owner: "person-7@" }),
    "jobs of a node": search({ node: "node-3" }),
    "jobs of a server": search({ server: "10.0.0.2" }),
    "story of a job": (services) => readAnyStory(services, { id: failed?.id ?? "" }),
    "GET /metrics": async (services) => {
      const nodes = readNodes(services);
      const overview = readOverview(services, { window: "1h", nodes });
      const [read, found] = await Promise.all([overview, nodes]);
      return metricsText({
        overview: read,
        nodes: found,
        providers: [],
        others: metricsOf(await readFigures(services, { hours: 1 })),
      });
    },
  };
}

interface Measuring {
  readonly stages: { readonly few: Stage; readonly many: Stage };
  readonly page: Page;
  readonly small: Page;
}

async function measure(name: string, { stages, page, small }: Measuring): Promise<string> {
  const { few: fewStage, many: manyStage } = stages;
  const statements = await recordStatements(() => page(manyStage.services));
  await small(fewStage.services);
  const times: number[] = [];
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const sides = { few: [] as number[], many: [] as number[] };
    for (let call = 0; call < callsPerRound; call += 1) {
      sides.many.push(await timed(() => page(manyStage.services)));
      sides.few.push(await timed(() => small(fewStage.services)));
    }
    times.push(...sides.many);
    ratios.push(quantile(sides.many, 0.5) / quantile(sides.few, 0.5));
  }
  const { median, upperQuartile } = summarise(ratios);
  return `${name}: p95 ${show(quantile(times, 0.95), 1)} ms, p50 ${show(quantile(times, 0.5), 1)} ms; ratio to ${few} jobs ${show(median)} (upper quartile ${show(upperQuartile)}); ${statements.length} statements`;
}
