/**
 * Follows a job by server-sent events until it ends, also when the connection breaks in between.
 *
 *   APP_URL=http://localhost:3000 ATELIER_API_KEY=... node examples/follow-job.ts <job id>
 *
 * Each event has the job's revision as its id. A stream that is opened again with `Last-Event-ID` goes on exactly there, so
 * no event is missed and none comes twice. The stream ends after the last event of the job.
 */
import { setTimeout as sleep } from "node:timers/promises";

const { APP_URL = "http://localhost:3000", ATELIER_API_KEY = "" } = process.env;
const [jobId = ""] = process.argv.slice(2);

interface Event {
  readonly revision: number;
  readonly type: string;
  readonly status: string;
  readonly at: string;
}

const finalStatuses = ["completed", "failed", "cancelled"];

/** The events of one connection. Between them come comments (": alive"), which have no data. */
async function* readEvents(after: number): AsyncGenerator<Event> {
  const answer = await fetch(new URL(`/api/v1/jobs/${jobId}/events`, APP_URL), {
    headers: { Authorization: `Bearer ${ATELIER_API_KEY}`, "Last-Event-ID": String(after) },
  });
  if (answer.status >= 400 && answer.status < 500) {
    console.error(`refused: ${await answer.text()}`);
    process.exit(1);
  }
  if (!answer.ok || !answer.body) throw new Error(`the stream answered ${answer.status}`);
  let text = "";
  for await (const part of answer.body.pipeThrough(new TextDecoderStream())) {
    text += part;
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const data = block.split("\n").find((line) => line.startsWith("data: "));
      if (data) yield JSON.parse(data.slice("data: ".length));
    }
  }
}

let seen = 0;
let status = "";
while (!finalStatuses.includes(status)) {
  try {
    for await (const event of readEvents(seen)) {
      ({ revision: seen, status } = event);
      console.log(`${event.at} ${event.revision} ${event.type} -> ${event.status}`);
    }
  } catch (error) {
    console.error(`broken off, again in a second: ${String(error)}`);
    await sleep(1_000);
  }
}
