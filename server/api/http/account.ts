import { z } from "zod";
import { type ApiKeyView, keyRights, readApiKey } from "../../accounts/index.ts";
import { capPeriods } from "../../db/index.ts";
import { AppError } from "../../platform/index.ts";
import { openExport } from "../../users/index.ts";
import { defineRoute } from "./route.ts";
import { isStillCaller, servedStream } from "./streams.ts";

/** GET /account/export */
export const exportRoute = defineRoute({
  method: "get",
  path: "/account/export",
  operationId: "exportAccount",
  summary: "Download everything that the studio holds about you as a zip",
  description:
    "`account.json` (the account, sessions, API keys and consents, without secrets), `jobs.json` (every job with its settings), the originals of uploads, results and masks, and `pictures.json`, which names the file of each. The length is not known before the end: a download that breaks off is no valid zip, and begins anew. One export of a user at a time, else 429. Deleted pictures are not in it.",
  tag: "account",
  responses: { 200: { description: "The zip", contentType: "application/zip" } },
  async handle({ services, caller, request }) {
    const zip = await openExport(services, {
      ...caller,
      signal: request.signal,
      isAllowed: () => isStillCaller(services, request.headers),
    });
    const day = new Date().toISOString().slice(0, 10);
    return new Response(
      servedStream(services, zip, () => Promise.resolve()),
      {
        headers: {
          "Content-Type": "application/zip",
          "Content-Disposition": `attachment; filename="atelier-${day}.zip"`,
          "Cache-Control": "private, no-store",
          "X-Accel-Buffering": "no",
          "X-Content-Type-Options": "nosniff",
        },
      },
    );
  },
});

const usd = (text: string) => z.number().describe(`US dollars; ${text}`);

const keySchema = z.object({
  id: z.string(),
  name: z.string(),
  start: z.string().describe("Its first characters"),
  createdAt: z.iso.datetime(),
  endsAt: z.iso.datetime().nullable().describe("Null: it does not end by itself"),
  rights: z.array(z.enum(keyRights)).nullable().describe("Null: all that its owner may"),
  perMinute: z
    .int()
    .nullable()
    .describe("Requests that it may make in a minute; null: as many as the studio allows any key"),
  cap: z
    .object({
      usd: usd("the most that it may spend in a period"),
      period: z
        .enum(capPeriods)
        .describe(
          "When it counts from 0 again: each midnight (UTC), on Monday, on the first of the month, or never",
        ),
    })
    .nullable()
    .describe("Null: only the limits of its owner and of the studio hold"),
  spentUsd: usd("of this period; without a cap of all time"),
  reservedUsd: usd("held for what is being made, charged or free again when that ends"),
  leftUsd: usd("of the cap, for what would be bought now; null without one").nullable(),
  resetsAt: z.iso.datetime().nullable().describe("When the period ends; null: never"),
});

/** What is left of a cap, never below 0: a provider may charge more than its price. */
function leftOf({ cap, spentUsd, reservedUsd }: ApiKeyView): number | null {
  return cap === null ? null : Math.max(0, cap.usd - spentUsd - reservedUsd);
}

function toAnswer(view: ApiKeyView): z.input<typeof keySchema> {
  const { id, name, start, createdAt, endsAt, rights, perMinute, cap, spentUsd, reservedUsd, resetsAt } =
    view;
  const spend = { cap, spentUsd, reservedUsd, leftUsd: leftOf(view), resetsAt };
  return { id, name, start, createdAt, endsAt, rights: rights && [...rights], perMinute, ...spend };
}

/** GET /keys/me: what the API key of the request may, and what is left of its cap. */
export const ownKeyRoute = defineRoute({
  method: "get",
  path: "/keys/me",
  operationId: "getOwnKey",
  summary: "Ask what your API key may and has spent",
  description: `Describes the key that the request is made with. What would exceed its cap is refused with 402 and the code \`budget_exceeded\`, unless one of the studio's own machines can
do it, where it costs nothing. A session has no key: 404.`,
  tag: "account",
  responses: { 200: { description: "The key, without its secret.", schema: keySchema } },
  samples: (address) => [
    {
      lang: "Shell",
      label: "What is left",
      source: `curl -s ${address}/api/v1/keys/me -H "Authorization: Bearer $ATELIER_API_KEY" | jq .leftUsd`,
    },
  ],
  async handle({ services, caller }) {
    if (caller.keyId === undefined)
      throw new AppError("not_found", "Send the request with the API key that it is about.");
    return Response.json(toAnswer(await readApiKey(services, caller.keyId)));
  },
});
