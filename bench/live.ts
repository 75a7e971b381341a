import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createApiKey } from "@atelier/server/accounts";
import { addOwner, insertJob } from "@atelier/testing/jobs";
import { killAtExit } from "@atelier/testing/processes";
import { processEnv } from "@atelier/testing/worker";
import type { Counts } from "./live-child.ts";
import { interleave, quantile, show, showRatio, summarise } from "./start-and-throughput.ts";
import { openStage, type Stage } from "./stage.ts";

interface Child {
  readonly port: number;
  counts(): Promise<Counts>;
  /** Milliseconds of processor time so far. */
  cpuMs(): Promise<number>;
  stop(): Promise<void>;
}

export async function startChild({ services }: Stage, mode: "studio" | "raw"): Promise<Child> {
  const child: ChildProcess = fork(path.join(import.meta.dirname, "live-child.ts"), [mode], {
    env: processEnv(services),
  });
  killAtExit(child);
  const read = async <Key extends string>(key: Key): Promise<Record<Key, unknown>> => {
    for (;;) {
      const [message] = await once(child, "message");
      if (typeof message === "object" && message !== null && key in message) return message;
    }
  };
  const { port } = await read("port");
  return {
    port: Number(port),
    async counts() {
      child.send("counts");
      // Safe: the child sends nothing else under this name.
      return (await read("counts")).counts as Counts;
    },
    async cpuMs() {
      child.send("cpu");
      return Number((await read("cpu")).cpu);
    },
    async stop() {
      child.kill("SIGTERM");
      await once(child, "exit");
    },
  };
}

/** An owner with a key and a job that runs for ever. */
interface Person {
  readonly key: string;
  readonly jobId: string;
}

export async function addPeople(stage: Stage, count: number): Promise<Person[]> {
  const { services } = stage;
  const people: Person[] = [];
  for (let at = 0; at < count; at += 1) {
    const owner = await addOwner(services);
    const { key } = await createApiKey(services, { userId: owner.userId, name: "bench" });
    people.push({ key, jobId: await insertJob(services, { owner }) });
  }
  await stage.run("update jobs set status = 'processing', attempt = 1");
  return people;
}

/** As many as one user may have open. */
const streamsPerPerson = 20;
/** Stands once in each update, and nowhere else. */
const mark = "~";
const byteOfMark = mark.charCodeAt(0);

export function requestOf(target: string, key: string): string {
  return `GET ${target} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${key}\r\n\r\n`;
}

/** Readers of streams that count updates and understand nothing else. */
function createReaders() {
  const sockets: Socket[] = [];
  let count = 0;
  let due = Infinity;
  let arrive: () => void = () => undefined;
  const onData = (data: Buffer) => {
    for (let at = data.indexOf(byteOfMark); at >= 0; at = data.indexOf(byteOfMark, at + 1)) count += 1;
    if (count >= due) arrive();
  };
  return {
    /** Resolves when the answer has begun. */
    async open(port: number, target: string, key: string) {
      const socket = connect(port, "127.0.0.1");
      socket.setNoDelay(true);
      socket.write(requestOf(target, key));
      sockets.push(socket);
      await once(socket, "data");
      socket.on("data", onData);
    },
    /** Milliseconds until all have the updates that `publish` sends. */
    async measure(updates: number, publish: () => void): Promise<number> {
      const arrived = new Promise<void>((resolve) => (arrive = resolve));
      due = count + updates;
      const startedMs = performance.now();
      publish();
      await arrived;
      return performance.now() - startedMs;
    },
    close() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

const fanOutRounds = 9;
const updatesPerRound = 10;
type Readers = Awaited<ReturnType<typeof openReaders>>;

async function openReaders(child: Child, people: readonly Person[], isRaw: boolean) {
  const before = await child.counts();
  const readers = createReaders();
  for (const { key, jobId } of people) {
    const target = isRaw ? `/${jobId}` : "/api/trpc/jobs.watch";
    await Promise.all(Array.from({ length: streamsPerPerson }, () => readers.open(child.port, target, key)));
  }
  // The first rows of the last streams are on their way.
  await sleep(3_000);
  const after = await child.counts();
  const streams = people.length * streamsPerPerson;
  return { child, readers, kibPerStream: (after.heapBytes - before.heapBytes) / 1_024 / streams };
}

/** P6: an update to all streams of its owner, beside the least that a plain HTTP server can do. */
export async function benchFanOut(streams: number): Promise<string[]> {
  const stage = await openStage("redis");
  const people = await addPeople(stage, streams / streamsPerPerson);
  const sides = {
    ours: await openReaders(await startChild(stage, "studio"), people, false),
    reference: await openReaders(await startChild(stage, "raw"), people, true),
  };
  let sent = 0;
  // One for each user: streams join updates of a job that their readers have not taken yet.
  const publish = () => {
    for (const { jobId } of people) {
      sent += 1;
      const progress = { jobId, attempt: 1, progress: sent / 1e9, stage: mark };
      stage.services.hints.publish({ type: "progress", progress });
    }
  };
  const measure = async ({ child, readers }: Readers) => {
    const cpuMs = await child.cpuMs();
    let tookMs = 0;
    for (let at = 0; at < updatesPerRound; at += 1) tookMs += await readers.measure(streams, publish);
    const measured = { tookMs: tookMs / updatesPerRound, cpuMs: (await child.cpuMs()) - cpuMs };
    // Both hear every update: what the other server still has to do is not measured.
    await sleep(300);
    return measured;
  };
  const rounds = await interleave(fanOutRounds, {
    ours: () => measure(sides.ours),
    reference: () => measure(sides.reference),
  });
  for (const { child, readers } of Object.values(sides)) {
    readers.close();
    await child.stop();
  }
  await stage.close();
  const tookMs = (side: "ours" | "reference") => rounds.map((round) => round[side].tookMs);
  const us = (side: "ours" | "reference") =>
    (quantile(
      rounds.map((round) => round[side].cpuMs),
      0.5,
    ) *
      1_000) /
    (streams * updatesPerRound);
  const ratios = rounds.map(({ ours, reference }) => reference.tookMs / ours.tookMs);
  return [
    `${streams} streams of ${people.length} users: throughput ${showRatio(summarise(ratios))} of raw`,
    `until the last has an update: p50 ${show(quantile(tookMs("ours"), 0.5), 0)} ms, p95 ${show(quantile(tookMs("ours"), 0.95), 0)} ms; raw ${show(quantile(tookMs("reference"), 0.5), 0)} and ${show(quantile(tookMs("reference"), 0.95), 0)} ms`,
    `processor time of the server: ${show(us("ours"), 1)} µs an update, raw ${show(us("reference"), 1)} µs`,
    `heap of the server: ${show(sides.ours.kibPerStream, 1)} KiB a stream, raw ${show(sides.reference.kibPerStream, 1)} KiB`,
  ];
}
