import { z } from "zod";
import { endOtherSessions, endSession, listSessions } from "../../accounts/index.ts";
import { defineRoute } from "./route.ts";

const sessionSchema = z.object({
  id: z.string(),
  browser: z.string().nullable(),
  system: z.string().nullable(),
  address: z.string().nullable().describe("Where it was used last"),
  startedAt: z.string().describe("ISO 8601, UTC"),
  lastUsedAt: z.string().describe("ISO 8601, UTC; to five minutes"),
  isCurrent: z.boolean().describe("The one that asks; none for an API key"),
});

const list = defineRoute({
  method: "get",
  path: "/account/sessions",
  operationId: "listSessions",
  summary: "List the devices on which you are signed in, the one used last first",
  tag: "account",
  responses: { 200: { description: "All of them.", schema: z.object({ items: z.array(sessionSchema) }) } },
  async handle({ services, caller: { userId, sessionId = null } }) {
    return Response.json({ items: await listSessions(services, { userId, sessionId }) });
  },
});

const end = defineRoute({
  method: "delete",
  path: "/account/sessions/{sessionId}",
  operationId: "endSession",
  summary: "Sign one device out at once",
  tag: "account",
  params: z.object({ sessionId: z.string().max(64) }),
  responses: { 204: { description: "It is signed out." } },
  async handle({ services, caller: { userId }, params: { sessionId } }) {
    await endSession(services, { userId, id: sessionId });
    return new Response(null, { status: 204 });
  },
});

const endOthers = defineRoute({
  method: "delete",
  path: "/account/sessions",
  operationId: "endOtherSessions",
  summary: "Sign out all devices but the one that asks; with an API key all of them",
  tag: "account",
  responses: {
    200: { description: "How many were signed out.", schema: z.object({ ended: z.int() }) },
  },
  async handle({ services, caller: { userId, sessionId = null } }) {
    return Response.json({ ended: await endOtherSessions(services, { userId, sessionId }) });
  },
});

/** The devices of the caller's account. */
export const sessionRoutes = [list, end, endOthers];
