import { z } from "zod";
import { accountOf } from "../../accounts/index.ts";
import { channelNames } from "../../db/index.ts";
import {
  createEndpoint,
  deleteEndpoint,
  listDeliveries,
  listDeliveriesSchema,
  listEndpoints,
  redeliver,
  rotateSecret,
  testEndpoint,
} from "../../deliveries/index.ts";
import { defineRoute, type HttpRoute } from "./route.ts";

const tag = "webhooks";
const params = z.object({ id: z.uuid() });
const secret = z.string().describe("Shown this once; `whsec_` and 32 bytes as base64, see Standard Webhooks");

const endpointSchema = z.object({
  id: z.uuid(),
  url: z.string().nullable().describe("Null: the secret for the `webhookUrl` of jobs"),
  isEnabled: z.boolean(),
  disabledReason: z.string().nullable(),
  previousUntil: z.iso.datetime().nullable().describe("Until then the secret before the rotation signs, too"),
  needsNewSecret: z
    .boolean()
    .describe("Its secret cannot be read any more: nothing is sent before a rotation"),
  createdAt: z.iso.datetime(),
});

/** A delivery in the HTTP API. */
export const deliverySchema = z.object({
  id: z.uuid().describe("The `webhook-id` of every attempt"),
  jobId: z.uuid().nullable(),
  batchId: z.uuid().nullable(),
  channel: z.enum(channelNames),
  receiver: z.string(),
  event: z.string(),
  state: z.enum(["waiting", "sending", "delivered", "failed"]),
  attempts: z.int(),
  lastError: z.string().nullable(),
  nextAttemptAt: z.iso.datetime().nullable(),
  deliveredAt: z.iso.datetime().nullable(),
  createdAt: z.iso.datetime(),
});

const listWebhooks = defineRoute({
  method: "get",
  path: "/webhooks",
  operationId: "listWebhooks",
  summary: "List your webhooks",
  tag,
  responses: {
    200: { description: "All of them.", schema: z.object({ items: z.array(endpointSchema) }) },
  },
  async handle({ services, caller }) {
    return Response.json({ items: await listEndpoints(services, accountOf(caller)) });
  },
});

const createWebhook = defineRoute({
  method: "post",
  path: "/webhooks",
  operationId: "createWebhook",
  summary: "Add a webhook",
  description: "The address gets `job.completed` and `job.failed` of all your jobs from now on.",
  tag,
  body: z.strictObject({ url: z.string().max(2_000).nullable() }),
  responses: {
    201: { description: "It is enabled.", schema: z.object({ id: z.uuid(), secret }) },
  },
  async handle({ services, caller, body }) {
    const made = await createEndpoint(services, { ownerId: accountOf(caller), url: body.url });
    return Response.json(made, { status: 201 });
  },
});

const rotateWebhook = defineRoute({
  method: "post",
  path: "/webhooks/{id}/rotate",
  operationId: "rotateWebhook",
  summary: "Give a webhook a new secret",
  description: "For 24 hours both secrets sign.",
  tag,
  resource: "webhook",
  params,
  responses: { 200: { description: "The new secret.", schema: z.object({ secret }) } },
  async handle({ services, caller, params: { id } }) {
    return Response.json(await rotateSecret(services, { ownerId: caller.userId, id }));
  },
});

const testWebhook = defineRoute({
  method: "post",
  path: "/webhooks/{id}/test",
  operationId: "testWebhook",
  summary: "Send a test to a webhook",
  tag,
  resource: "webhook",
  params,
  responses: {
    202: { description: "It will be sent.", schema: z.object({ deliveryId: z.uuid() }) },
  },
  async handle({ services, caller, params: { id } }) {
    return Response.json(await testEndpoint(services, { ownerId: caller.userId, id }), { status: 202 });
  },
});

const deleteWebhook = defineRoute({
  method: "delete",
  path: "/webhooks/{id}",
  operationId: "deleteWebhook",
  summary: "Delete a webhook",
  tag,
  resource: "webhook",
  params,
  responses: { 204: { description: "It gets nothing more." } },
  async handle({ services, caller, params: { id } }) {
    await deleteEndpoint(services, { ownerId: caller.userId, id });
    return new Response(null, { status: 204 });
  },
});

const listDeliveriesRoute = defineRoute({
  method: "get",
  path: "/deliveries",
  operationId: "listDeliveries",
  summary: "List your deliveries, newest first",
  tag,
  query: listDeliveriesSchema.extend({ limit: z.coerce.number().int().min(1).max(100).default(50) }),
  responses: {
    200: {
      description: "One page.",
      schema: z.object({ items: z.array(deliverySchema), nextCursor: z.string().nullable() }),
    },
  },
  async handle({ services, caller, query }) {
    return Response.json(await listDeliveries(services, { ...query, ownerId: caller.userId }));
  },
});

const redeliverRoute = defineRoute({
  method: "post",
  path: "/deliveries/{id}/redeliver",
  operationId: "redeliver",
  summary: "Send a delivery again",
  description: "Also one that was delivered; the receiver knows it by the same `webhook-id`.",
  tag,
  resource: "delivery",
  params,
  responses: { 202: { description: "It will be sent.", schema: z.object({ id: z.uuid() }) } },
  async handle({ services, caller, params: { id } }) {
    await redeliver(services, { id, ownerId: caller.userId });
    return Response.json({ id }, { status: 202 });
  },
});

export const webhookRoutes: readonly HttpRoute[] = [
  listWebhooks,
  createWebhook,
  rotateWebhook,
  testWebhook,
  deleteWebhook,
  listDeliveriesRoute,
  redeliverRoute,
];
