import { z } from "zod";
import { get, streamEvents, type JobEventView } from "../../../jobs/index.ts";
import { defineRoute } from "../route.ts";

const encoder = new TextEncoder();

function eventText(event: JobEventView | null): string {
  if (!event) return ": alive\n\n";
  const { revision, type, status, data, at } = event;
  return `id: ${revision}\nevent: ${type}\ndata: ${JSON.stringify({ revision, type, status, data, at })}\n\n`;
}

export const jobEventsRoute = defineRoute({
  method: "get",
  path: "/jobs/{id}/events",
  operationId: "streamJobEvents",
  summary: "Follow a job by server-sent events",
  description:
    "Each event's id is the job's revision; a connection that is opened again with `Last-Event-ID` continues exactly there. The stream ends after the job's last event.",
  tag: "jobs",
  resource: "job",
  params: z.object({ id: z.string() }),
  headers: z.object({ "last-event-id": z.coerce.number().int().min(0).default(0) }),
  responses: {
    200: { description: "The story of the job, then what happens.", contentType: "text/event-stream" },
  },
  async handle({ services, caller, params: { id }, headers, request }) {
    // Asked before the stream starts, so that an unknown job is a 404 and not an empty stream.
    await get(services, { ownerId: caller.userId, id });
    const ended = new AbortController();
    const signal = AbortSignal.any([request.signal, ended.signal]);
    const events = streamEvents(services, {
      ownerId: caller.userId,
      id,
      after: headers["last-event-id"],
      signal,
    });
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await events.next();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(eventText(value)));
      },
      async cancel() {
        ended.abort();
        await events.return(undefined);
      },
    });
    return new Response(body, {
      headers: {
        "Content-Type": "text/event-stream",
        "Cache-Control": "no-store, no-transform",
        "X-Accel-Buffering": "no",
      },
    });
  },
});
