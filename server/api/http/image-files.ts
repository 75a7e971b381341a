import { z } from "zod";
import { answerFormats, type Conversion, openAs, openFile, variants } from "../../images/index.ts";
import {
  noteServed,
  openPicturesZip,
  openResult,
  openWithSettings,
  picturesZipLimit,
} from "../../jobs/index.ts";
import { flagOfText } from "../../platform/index.ts";
import { defineRoute } from "./route.ts";
import { isStillCaller, servedStream, zipAnswer, zipStream } from "./streams.ts";

/** Of the original, for a file and for each of a zip. */
const asked = {
  format: z
    .enum(answerFormats)
    .optional()
    .describe(
      "The original in this format, with its marks of origin; in a JPEG what is transparent is white. By default as it is stored, or a JPEG with `longestPx`",
    ),
  quality: z.coerce.number().int().min(1).max(100).default(90).describe("Of a JPEG or WebP that is made"),
  longestPx: z.coerce
    .number()
    .int()
    .min(1)
    .max(65_535)
    .optional()
    .describe("Of the longer side; a picture that has fewer pixels keeps its own"),
};

/** Null: as it is stored. */
function conversionOf({ format, quality, longestPx }: Partial<Conversion>): Conversion | null {
  if (format === undefined && longestPx === undefined) return null;
  return { format: format ?? "jpeg", quality: format === "png" ? undefined : quality, longestPx };
}

/** GET /images/{id}/file */
export const getImageFileRoute = defineRoute({
  method: "get",
  path: "/images/{id}/file",
  operationId: "getImageFile",
  summary: "Download a picture",
  description:
    "`preview` is at most 1,280 pixels, `thumbnail` at most 320; `format` and `longestPx` make another file of the original, whatever the variant. Answers 304 to a matching If-None-Match.",
  tag: "images",
  resource: "image",
  params: z.object({ id: z.uuid() }),
  query: z.object({
    variant: z.enum(variants).default("original"),
    download: flagOfText.default(false).describe("As an attachment, to be saved"),
    settings: flagOfText
      .default(false)
      .describe(
        "The original of a result carries what it was made from: `parameters`, as most programs read it, and `atelier` as JSON. Anybody who gets the file can read them. Only in the file as it is stored: not with `format` or `longestPx`.",
      ),
    ...asked,
  }),
  responses: {
    200: { description: "The file", contentType: "image/*" },
    302: { description: "Where to get the file, for a quarter of an hour at most; in studios with a bucket" },
    304: { description: "Your copy is still right" },
  },
  async handle({ services, caller, params: { id }, query, request }) {
    const ifNoneMatch = request.headers.get("if-none-match");
    const isHead = request.method === "HEAD";
    const own = {
      id,
      ownerId: caller.userId,
      download: query.download,
      ifNoneMatch,
      isHead,
      allowsLink: true,
    };
    const { variant, settings } = query;
    const as = conversionOf(query);
    const openStored = settings ? openWithSettings : openResult;
    const openOriginal = () =>
      as ? openAs(services, { ...own, signal: request.signal }, as) : openStored(services, own);
    const isOriginal = variant === "original" || as !== null;
    const { headers, isCurrent, body, link } = await (isOriginal
      ? openOriginal()
      : openFile(services, { ...own, variant, allowsTrash: true }));
    if (link !== null) return new Response(null, { status: 302, headers: { ...headers, location: link } });
    if (!body) return new Response(null, { status: isCurrent ? 304 : 200, headers });
    const onServed = async () => {
      if (isOriginal) await noteServed(services, id);
    };
    return new Response(servedStream(services, body, onServed), { headers });
  },
});

const uuid = String.raw`[\da-fA-F]{8}(?:-[\da-fA-F]{4}){3}-[\da-fA-F]{12}`;

/** GET /images/zip */
export const getImagesZipRoute = defineRoute({
  method: "get",
  path: "/images/zip",
  operationId: "getImagesZip",
  summary: "Download several pictures as a zip",
  description:
    "The originals under their titles, and `pictures.json` with what is known of each. 404 when one of them is not yours or in the trash.",
  tag: "images",
  query: z.object({
    ids: z
      .string()
      .regex(new RegExp(`^${uuid}(?:,${uuid}){0,${picturesZipLimit - 1}}$`))
      .describe(`At most ${picturesZipLimit} pictures, parted by commas`),
    settings: flagOfText
      .default(false)
      .describe(
        "Each result carries what it was made from, as in its own file; not with `format` or `longestPx`",
      ),
    ...asked,
  }),
  responses: { 200: { description: "The zip", contentType: "application/zip" } },
  async handle({ services, caller, query, request }) {
    const { ids, settings } = query;
    const wanted = { ownerId: caller.userId, ids: ids.split(","), settings, as: conversionOf(query) };
    const reader = {
      caller,
      signal: request.signal,
      isAllowed: () => isStillCaller(services, request.headers),
    };
    const zip = await zipStream(services, reader, () => openPicturesZip(services, wanted));
    return zipAnswer(services, zip, "pictures.zip");
  },
});
