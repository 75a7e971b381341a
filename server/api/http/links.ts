import { z } from "zod";
import { accountOf } from "../../accounts/index.ts";
import {
  createLink,
  createLinkSchema,
  getLink,
  listLinks,
  type LinkView,
  revokeLink,
} from "../../links/index.ts";
import { originOf } from "../../platform/index.ts";
import { defineRoute, type HttpRoute } from "./route.ts";

const tag = "links";
const params = z.object({ id: z.uuid() });

const linkSchema = z.object({
  id: z.uuid(),
  title: z.string(),
  batchId: z.uuid().nullable().describe("The batch that it shows; null for one with pictures of its own"),
  boardId: z.uuid().nullable().describe("The board that it shows; null for one without"),
  pictures: z.int().describe("How many it shows now"),
  coverId: z.uuid().nullable().describe("The first of them"),
  hasPassword: z.boolean(),
  mayDownload: z.boolean().describe("Visitors may save the originals"),
  endsAt: z.iso.datetime().nullable().describe("Null: until it is revoked"),
  hasEnded: z.boolean(),
  views: z
    .int()
    .describe("How often its page was opened in a browser; previews of chat programs do not count"),
  createdAt: z.iso.datetime(),
}) satisfies z.ZodType<LinkView>;

const madeSchema = linkSchema.extend({
  url: z.url().describe("Shown this once: the studio keeps only a hash of its secret part"),
});

const createRoute = defineRoute({
  method: "post",
  path: "/links",
  operationId: "createLink",
  summary: "Share pictures by a link",
  description:
    "The address shows the pictures, or the results of a batch or your pictures on a board (the latest 500) as they are at each visit, to everybody who has it, without an account. It ends after `endsInDays`, when it is revoked, or with its last picture. What leaves has no metadata but the mark of its origin; search engines are told not to list the page.",
  tag,
  body: createLinkSchema,
  responses: { 201: { description: "The link works from now on.", schema: madeSchema } },
  async handle({ services, caller, body }) {
    const { path, ...link } = await createLink(services, { ...body, ownerId: accountOf(caller) });
    const url = new URL(path, originOf(services.env)).href;
    return Response.json(madeSchema.parse({ ...link, url }), {
      status: 201,
      headers: { Location: `/api/v1/links/${link.id}` },
    });
  },
});

const listRoute = defineRoute({
  method: "get",
  path: "/links",
  operationId: "listLinks",
  summary: "List your links, newest first",
  tag,
  responses: {
    200: { description: "All that were not revoked.", schema: z.object({ items: z.array(linkSchema) }) },
  },
  handle: async ({ services, caller }) =>
    Response.json({ items: await listLinks(services, accountOf(caller)) }),
});

const getRoute = defineRoute({
  method: "get",
  path: "/links/{id}",
  operationId: "getLink",
  summary: "Get a link",
  tag,
  resource: "link",
  params,
  responses: { 200: { description: "The link, without its address.", schema: linkSchema } },
  handle: async ({ services, caller, params: { id } }) =>
    Response.json(await getLink(services, { ownerId: caller.userId, id })),
});

const revokeRoute = defineRoute({
  method: "delete",
  path: "/links/{id}",
  operationId: "revokeLink",
  summary: "Revoke a link",
  description: "Its address shows nothing from now on.",
  tag,
  resource: "link",
  params,
  responses: { 204: { description: "Revoked." } },
  async handle({ services, caller, params: { id } }) {
    await revokeLink(services, { ownerId: caller.userId, id });
    return new Response(null, { status: 204 });
  },
});

export const linkRoutes: readonly HttpRoute[] = [createRoute, listRoute, getRoute, revokeRoute];
