import { readFile } from "node:fs/promises";
import { z } from "zod";
import { jobKinds } from "../../engines.ts";
import { toDecodable, withFilePermit } from "../../images/index.ts";
import { AppError, isAppError } from "../../platform/index.ts";
import { identify } from "../../provenance/index.ts";
import type { Services } from "../../services.ts";
import { withParts } from "./multipart.ts";
import { defineRoute } from "./route.ts";

const identifiedSchema = z.object({
  statement: z
    .object({
      state: z
        .enum(["valid", "changed", "broken"])
        .describe("`changed`: the statement is whole, but the file is not the one that it was made for"),
      signer: z.string().nullable().describe("The name in the certificate; nobody vouches for it here"),
      isOwnSigner: z.boolean().describe("Signed with a key of this studio"),
      generator: z.string().nullable().describe("The program that wrote the statement"),
      steps: z.array(
        z.object({
          action: z.string().describe("As C2PA names it, such as `c2pa.created`"),
          digitalSourceType: z.string().nullable().describe("As IPTC names it"),
          software: z.string().nullable(),
          at: z.iso.datetime().nullable(),
        }),
      ),
    })
    .nullable()
    .describe("The C2PA manifest of the file; null without one"),
  isPicture: z
    .boolean()
    .describe("The file can be read as a picture; else it was searched for a statement alone"),
  watermark: z
    .object({
      id: z.string().describe("The number in the pixels, 8 digits of base 16"),
      isOwn: z.boolean().describe("It is the number of a picture of this studio"),
    })
    .nullable()
    .describe(
      "Looked for where the statement does not show that the picture was made here; null when there is none",
    ),
  isOurs: z
    .boolean()
    .describe(
      "Made in this studio, as far as the file can show it; not so for an upload that the studio only stored and signed",
    ),
  madeAt: z.iso.datetime().nullable(),
  record: z
    .object({
      imageId: z.uuid(),
      jobId: z.uuid().nullable(),
      kind: z.enum(jobKinds).nullable(),
      isOwn: z.boolean().describe("False where an admin sees a picture of somebody else"),
    })
    .nullable()
    .describe("For the owner of the picture and for admins, while the studio has it"),
});

const rules = { files: { file: 1 }, fields: 0, fieldBytes: 1 };

/** POST /identify: what a file says about where it comes from. Nothing of it is stored. */
export const identifyRoute = defineRoute({
  method: "post",
  path: "/identify",
  operationId: "identifyPicture",
  summary: "Ask where a picture comes from",
  description: `Reads the statement of origin (C2PA) and the watermark of a JPEG, PNG, WebP or HEIC in a part named \`file\`, checks its signature, and says whether it was made in
this studio. The file is not stored. A file without them may still come from here: programs and platforms take them away.`,
  tag: "images",
  multipart: {
    type: "object",
    required: ["file"],
    properties: {
      file: { type: "string", format: "binary", contentMediaType: "application/octet-stream" },
    },
  },
  counts: "identified",
  responses: { 200: { description: "What was found", schema: identifiedSchema } },
  handle: async ({ services, caller, request }) =>
    withParts(services, { request, caller, rules }, async ({ files: [file] }) => {
      if (!file) throw new AppError("bad_request", "Send one part named `file`.");
      return Response.json(await answer(services, caller, file.path));
    }),
});

async function answer(
  services: Services,
  caller: Parameters<typeof identify>[1],
  path: string,
): Promise<z.input<typeof identifiedSchema>> {
  const { isPicture, statement, watermark, isOurs, madeAt, record } = await withFilePermit(
    { ownerId: caller.userId, weight: "heavy" },
    async () => {
      const bytes = await readFile(path);
      const picture = await openPicture(bytes);
      return { isPicture: picture !== null, ...(await identify(services, caller, { bytes, picture })) };
    },
  );
  const steps = statement?.steps.map((step) => ({ ...step, at: step.at?.toISOString() ?? null })) ?? [];
  return {
    statement: statement && { ...statement, steps },
    isPicture,
    watermark,
    isOurs,
    madeAt: madeAt?.toISOString() ?? null,
    record,
  };
}

/** Null for a file that no upload may be: its statement is read, but no pixel of it. */
async function openPicture(bytes: Buffer): Promise<Buffer | null> {
  try {
    return await toDecodable(bytes);
  } catch (error) {
    if (isAppError(error)) return null;
    throw error;
  }
}
