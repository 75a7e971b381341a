import { openTracing, type Tracing } from "@atelier/server/platform";
import { killAtExit, runCode } from "@atelier/testing/processes";
import { type Backend, openStage } from "./stage.ts";
import { createThroughput, interleave, show, showRatio, summarise } from "./start-and-throughput.ts";
import { startZeroWork } from "./studio.ts";

/** A collector that only counts spans. It is another process, so that its work is not measured. */
const collector = `
  import { createServer } from "node:http";
  let spans = 0;
  const server = createServer(async (request, response) => {
    const text = Buffer.concat(await Array.fromAsync(request)).toString();
    spans += text.split('"spanId"').length - 1;
    response.end(request.method === "GET" ? String(spans) : "{}");
  });
  server.listen(0, "127.0.0.1", () => console.log("port " + server.address().port));`;

interface Block {
  readonly jobsPerS: number;
  /** CPU time of the process that accepts, claims and completes; its database is another one. */
  readonly cpuMsPerJob: number;
}

const rounds = 9;
const spansPerJob = 6;
/** The spans of so many jobs fill batches of 512: what one block makes is sent in it, and not in the next one. */
const jobs = 256;
const spansAlone = 6_144;

/** CPU time of this process while `work` runs, ms. */
async function cpuMsOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** Spans as those of a job and nothing else, in small groups as they come. */
async function makeSpans(tracing: Tracing): Promise<void> {
  const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const attributes = { "atelier.job.id": parent, "atelier.job.kind": "upscale", "atelier.job.attempt": 1 };
  for (let made = 0; made < spansAlone; made += 1) {
    tracing.start("run upscale", { parent, kind: "consumer", attributes }).end();
    if (made % 64 === 0) await new Promise(setImmediate);
  }
}

/** The way of jobs without work, accept to completed, with all spans of such a job against the same way with none. */
export async function benchTracing(backend: Backend): Promise<string[]> {
  const stage = await openStage(backend);
  const run = runCode(collector);
  killAtExit(run.child);
  const [, port = ""] = await run.seen(/port (\d+)/);
  const url = `http://127.0.0.1:${port}`;
  const { log, env } = stage.services;
  const tracing = await openTracing({ ...env, OTEL_EXPORTER_OTLP_ENDPOINT: url }, { name: "bench", log });
  if (tracing === null) throw new Error("nothing is traced");
  let inForce: Tracing | null = null;
  const services = Object.defineProperty({ ...stage.services }, "tracing", { get: () => inForce });
  const throughput = createThroughput();
  const product = await startZeroWork({ ...stage, services }, { slots: 10, onCompleted: throughput.note });
  const block = async (traced: Tracing | null): Promise<Block> => {
    inForce = traced;
    let jobsPerS = 0;
    const cpuMs = await cpuMsOf(async () => (jobsPerS = await throughput.run(jobs, () => product.accept())));
    return { jobsPerS, cpuMsPerJob: cpuMs / jobs };
  };
  const results = await interleave(rounds, { ours: () => block(tracing), reference: () => block(null) });
  const spanUs = (1_000 * (await cpuMsOf(() => makeSpans(tracing)))) / spansAlone;
  await product.close();
  await tracing.close();
  const received = Number(await (await fetch(url)).text());
  const expected = (rounds + 1) * jobs * spansPerJob + spansAlone;
  await stage.close();
  run.child.kill("SIGTERM");
  await run.ended;
  const ratioOf = (of: keyof Block) =>
    showRatio(summarise(results.map(({ ours, reference }) => ours[of] / reference[of])));
  const middle = (side: "ours" | "reference", of: keyof Block) =>
    summarise(results.map((round) => round[side][of])).median;
  return [
    `${rounds} rounds of ${jobs} jobs without work, with spans against without: jobs/s ${ratioOf("jobsPerS")}, CPU time per job ${ratioOf("cpuMsPerJob")}`,
    `with ${show(middle("ours", "cpuMsPerJob"))} ms, without ${show(middle("reference", "cpuMsPerJob"))} ms of CPU time per job, of which ${spansPerJob} spans alone take ${show((spansPerJob * spanUs) / 1_000, 3)} ms`,
    `${received} of ${expected} spans arrived`,
  ];
}
