import { z } from "zod";
import { jobKinds } from "../engines/index.ts";

const moment = z.iso.datetime({ offset: true }).transform((text) => new Date(text));

/** What a list of pictures can be narrowed to; the same for tRPC and the HTTP API. */
export const listImagesSchema = z.strictObject({
  cursor: z.string().max(100).optional(),
  limit: z.number().int().min(1).max(100).default(50),
  role: z.enum(["upload", "result"]).optional(),
  kind: z.enum(jobKinds).optional(),
  starred: z.boolean().optional(),
  from: moment.optional(),
  to: moment.optional(),
  search: z.string().trim().max(200).optional(),
});
