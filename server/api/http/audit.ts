import { Readable } from "node:stream";
import { z } from "zod";
import {
  auditFilterSchema,
  auditFormats,
  exportAudit,
  recordAct,
  searchAudit,
  searchAuditSchema,
} from "../../audit/index.ts";
import { schema } from "../../db/index.ts";
import { takePlace } from "../../platform/index.ts";
import { defineRoute } from "./route.ts";
import { holdStreamSlot, isStillCaller, servedStream } from "./streams.ts";

const personSchema = z
  .object({
    id: z.string(),
    name: z.string().nullable().describe("As it is now; null when the account is gone, and for a guest"),
    email: z.string().nullable(),
  })
  .nullable();

const entrySchema = z.object({
  id: z.string(),
  at: z.string().describe("ISO 8601, UTC"),
  kind: z.string().describe("What was done, such as `key.made`; its part before the dot is the group"),
  outcome: z.string().describe("`ok`, or the code of the refusal"),
  actor: z.enum(schema.auditActors).describe("`nobody`: without a session; `operator`: on the command line"),
  by: personSchema.describe("The user who acted, also through a key"),
  keyId: z.string().nullable(),
  person: personSchema.describe("The user to whom it was done, where that is another one"),
  objectId: z.string().nullable().describe("What it was done to: a key, a link, a job, a node"),
  address: z.string().nullable().describe("Of the sender, as the studio knows it behind TRUSTED_PROXIES"),
  requestId: z.string().nullable(),
  details: z.record(z.string(), z.unknown()),
});

const listAudit = defineRoute({
  method: "get",
  path: "/audit",
  operationId: "listAudit",
  summary: "Search the audit log, the newest entries first",
  description: "For an admin's account; of a key with chosen rights the right `admin`.",
  tag: "audit",
  right: "admin",
  query: searchAuditSchema,
  responses: {
    200: {
      description: "A page of entries; `nextCursor` is for the next one.",
      schema: z.object({ items: z.array(entrySchema), nextCursor: z.string().nullable() }),
    },
  },
  handle: async ({ services, query }) => Response.json(await searchAudit(services, query)),
});

const contentTypes = { csv: "text/csv; charset=utf-8", jsonl: "application/x-ndjson" } as const;

const exportAuditRoute = defineRoute({
  method: "get",
  path: "/audit/export",
  operationId: "exportAudit",
  summary: "Download the entries of the audit log that match, as CSV or one JSON document a line",
  description:
    "Sent while it is read, so its length is not known before the end. For an admin's account; of a key with chosen rights the right `admin`. The export is an entry itself.",
  tag: "audit",
  right: "admin",
  query: auditFilterSchema.extend({ format: z.enum(auditFormats).default("csv") }),
  responses: { 200: { description: "The entries, the newest first", contentType: "text/csv" } },
  async handle({ services, caller, request, query: { format, ...filter } }) {
    // Nothing is read, so it is no export.
    if (request.method === "HEAD") return new Response(null, { headers: headersOf(format) });
    const giveBack = takePlace(services, "export", caller);
    const details = { format, ...filter, person: filter.person === undefined ? undefined : "chosen" };
    await recordAct(services.db, { kind: "admin.audit.export", by: caller.userId, details }).catch(
      (error: unknown) => {
        giveBack();
        throw error;
      },
    );
    const text = exportAudit(services, {
      filter,
      format,
      isAllowed: () => isStillCaller(services, request.headers, ({ isAdmin }) => isAdmin),
    });
    const source = Readable.from(bytesOf(text), { objectMode: true, highWaterMark: 1 });
    const end = holdStreamSlot(services, { caller, signal: request.signal, giveBack }, () =>
      source.destroy(),
    );
    source.once("close", end);
    return new Response(
      servedStream(services, source, () => Promise.resolve()),
      { headers: headersOf(format) },
    );
  },
});

const headersOf = (format: (typeof auditFormats)[number]) => ({
  "Content-Type": contentTypes[format],
  "Content-Disposition": `attachment; filename="audit-${new Date().toISOString().slice(0, 10)}.${format}"`,
  "Cache-Control": "private, no-store",
  "X-Accel-Buffering": "no",
  "X-Content-Type-Options": "nosniff",
});

async function* bytesOf(text: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const piece of text) yield encoder.encode(piece);
}

export const auditRoutes = [listAudit, exportAuditRoute];
