import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createApiKey } from "@atelier/server/accounts";
import { Redis } from "ioredis";
import { addPeople, requestOf, startChild } from "./live.ts";
import { quantile, show } from "./start-and-throughput.ts";
import { type Backend, createSignals, openStage } from "./stage.ts";
import { startZeroWork } from "./studio.ts";

const finishRounds = 60;
const pollEveryMs = 500;
const timeoutMs = 30_000;

/** P5: from the end of a job's work to the browser that watches it, beside a client that asks every 500 ms. */
export async function benchFinishToBrowser(backend: Backend): Promise<string[]> {
  const stage = await openStage(backend);
  const { key } = await createApiKey(stage.services, { userId: stage.ownerId, name: "bench" });
  const child = await startChild(stage, "studio");
  const headers = { authorization: `Bearer ${key}` };
  const origin = `http://127.0.0.1:${child.port}`;
  const [shown, polled, finished] = [createSignals(), createSignals(), createSignals()];
  const leaving = new AbortController();
  const response = await fetch(`${origin}/api/trpc/jobs.watch`, { headers, signal: leaving.signal });
  const reading = readEnds(response, (id) => shown.note(id)).catch(() => undefined);
  const work = await startZeroWork(
    { ...stage, services: await stage.openAnother() },
    { slots: 1, onFinished: (id) => finished.note(id) },
  );
  const times: { shown: number; polled: number }[] = [];
  for (let round = 0; round <= finishRounds; round += 1) {
    const id = await work.accept();
    const poll = async () => {
      // Clients begin at any time of their interval.
      await sleep((round * 137) % pollEveryMs);
      for (;;) {
        const answer = await fetch(`${origin}/api/v1/jobs/${id}`, {
          headers,
          signal: AbortSignal.timeout(timeoutMs),
        });
        const { status }: { status?: unknown } = await answer.json();
        if (status === "completed") return polled.note(id);
        await sleep(pollEveryMs);
      }
    };
    await poll();
    const endedAtMs = await finished.when(id);
    const [shownAtMs, polledAtMs] = [await shown.when(id), await polled.when(id)];
    if (round > 0) times.push({ shown: shownAtMs - endedAtMs, polled: polledAtMs - endedAtMs });
  }
  leaving.abort();
  await reading;
  await work.close();
  await child.stop();
  await stage.close();
  const of = (pick: (time: (typeof times)[number]) => number, share: number) =>
    show(quantile(times.map(pick), share), 1);
  const p50 = (pick: (time: (typeof times)[number]) => number) => quantile(times.map(pick), 0.5);
  return [
    `shown by the stream: p50 ${of(({ shown }) => shown, 0.5)} ms, p95 ${of(({ shown }) => shown, 0.95)} ms (goal 50)`,
    `found by a client that asks every ${pollEveryMs} ms: p50 ${of(({ polled }) => polled, 0.5)} ms, p95 ${of(({ polled }) => polled, 0.95)} ms`,
    `sooner at p50 by ${show(p50(({ polled }) => polled) / p50(({ shown }) => shown), 1)} times (goal 5)`,
  ];
}

async function readEnds(response: Response, onEnd: (id: string) => void): Promise<void> {
  let text = "";
  for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += part;
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    for (const event of events)
      for (const [, id = ""] of event.matchAll(
        /"id":"([0-9a-f-]{36})","kind":"[a-z_]+","status":"completed"/g,
      ))
        onEnd(id);
  }
}

const cycles = 10_000;
const cyclesAtOnce = 50;

/** P7: streams that are opened and dropped, a third of them before they are answered; what the server still holds. */
export async function benchDroppedStreams(): Promise<string[]> {
  const stage = await openStage("redis");
  const people = await addPeople(stage, 50);
  const child = await startChild(stage, "studio");
  const cycle = async (at: number) => {
    const { key = "" } = people[at % people.length] ?? {};
    const socket = connect(child.port, "127.0.0.1");
    socket.on("error", () => undefined);
    const closed = once(socket, "close");
    if (at % 3 === 0) {
      socket.resume();
      socket.end("GET /api/trpc/jobs.watch HTTP/1.1\r\nhost: 127.");
    } else {
      socket.write(requestOf("/api/trpc/jobs.watch", key));
      if (at % 3 === 1) await once(socket, "data");
      socket.destroy();
    }
    await closed;
  };
  const runCycles = async (count: number) => {
    let next = 0;
    const run = async () => {
      while (next < count) await cycle(next++);
    };
    await Promise.all(Array.from({ length: cyclesAtOnce }, run));
    // The last ones are on their way out.
    await sleep(3_000);
    return child.counts();
  };
  const first = await runCycles(cycles);
  const last = await runCycles(cycles);
  const redis = new Redis(stage.redisUrl ?? "");
  const subscribed = await redis.pubsub("NUMSUB", "atelier:hints", "atelier:progress");
  redis.disconnect();
  await child.stop();
  await stage.close();
  const mib = (bytes: number) => show(bytes / 1024 ** 2, 1);
  return [
    `after ${cycles} cycles: heap ${mib(first.heapBytes)} MiB, resident ${mib(first.rssBytes)} MiB, ${first.timers} timers, ${first.sockets} sockets`,
    `after ${cycles} more: heap ${mib(last.heapBytes)} MiB, resident ${mib(last.rssBytes)} MiB (${show((last.rssBytes / first.rssBytes - 1) * 100, 1)} %), ${last.timers} timers, ${last.sockets} sockets`,
    `subscriptions left in Redis: ${String(subscribed[1])} to hints, ${String(subscribed[3])} to live updates`,
  ];
}
